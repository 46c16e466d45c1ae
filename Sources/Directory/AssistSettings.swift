import Postgres
public import Primitives

/// The endpoint that writes drafts for the operators of a workspace (`assist_settings`). Without a
/// row, or while it is not enabled, nothing is sent to any endpoint.
public struct AssistSettings: Sendable, Equatable {
  public var workspace: Identifier
  public var isEnabled: Bool
  /// `suggest`, `summary`, `translate`.
  public var uses: [String]
  public var endpoint: String
  public var model: String
  /// Nil: the endpoint needs no key.
  public var key: SecretBox.Sealed?
  /// `max_tokens` or `max_completion_tokens`.
  public var tokenLimit: String
  public var tokensPerDay: Int64
  public var tokensPerMonth: Int64
  public var timeoutSeconds: Int64
  /// `off`, `replies` or `conversations`: on what automatic answers are based.
  public var automatic: String
  /// The last lines of each automatic answer, which say that it is one.
  public var automaticNotice: String

  public init(
    workspace: Identifier, isEnabled: Bool, uses: [String], endpoint: String, model: String,
    key: SecretBox.Sealed?, tokenLimit: String, tokensPerDay: Int64, tokensPerMonth: Int64,
    timeoutSeconds: Int64, automatic: String, automaticNotice: String
  ) {
    self.workspace = workspace
    self.isEnabled = isEnabled
    self.uses = uses
    self.endpoint = endpoint
    self.model = model
    self.key = key
    self.tokenLimit = tokenLimit
    self.tokensPerDay = tokensPerDay
    self.tokensPerMonth = tokensPerMonth
    self.timeoutSeconds = timeoutSeconds
    self.automatic = automatic
    self.automaticNotice = automaticNotice
  }

  /// The place to which `SecretBox` binds the key: the endpoint is part of it, so that a key is
  /// never sent to another one.
  public static func place(in workspace: Identifier, endpoint: String) -> String {
    "assist:\(workspace):\(endpoint)"
  }

  public static func find(in workspace: Identifier) -> Statement<AssistSettings?> {
    Statement(
      Query(
        """
        SELECT is_enabled, array_to_string(uses, ' '), endpoint, model, key_id, ciphertext,
          token_limit, tokens_per_day, tokens_per_month, timeout_seconds::bigint, automatic,
          automatic_notice
        FROM assist_settings WHERE workspace_id = $1::uuid
        """, [.uuid(workspace)])
    ) { rows in
      guard !rows.isEmpty, let uses = rows.text(0, 1), let endpoint = rows.text(0, 2),
        let model = rows.text(0, 3), let tokenLimit = rows.text(0, 6),
        let perDay = rows.int(0, 7), let perMonth = rows.int(0, 8), let seconds = rows.int(0, 9),
        let automatic = rows.text(0, 10), let notice = rows.text(0, 11)
      else { return nil }
      var key: SecretBox.Sealed?
      if let id = rows.text(0, 4), let bytes = rows.bytes(0, 5) {
        key = SecretBox.Sealed(keyID: id, bytes: bytes)
      }
      return AssistSettings(
        workspace: workspace, isEnabled: rows.bool(0, 0) == true,
        uses: uses.split(separator: " ").map { String($0) }, endpoint: endpoint, model: model,
        key: key, tokenLimit: tokenLimit, tokensPerDay: perDay, tokensPerMonth: perMonth,
        timeoutSeconds: seconds, automatic: automatic, automaticNotice: notice)
    }
  }

  /// Creates or replaces the settings of the actor's workspace.
  public func put(by actor: AuditActor) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO assist_settings (workspace_id, is_enabled, uses, endpoint, model, key_id,
            ciphertext, token_limit, tokens_per_day, tokens_per_month, timeout_seconds,
            automatic, automatic_notice)
          VALUES ($1::uuid, $4::boolean, string_to_array($5::text, ' '), $6::text, $7::text,
            $8::text, $9::bytea, $10::text, $11::bigint, $12::bigint, $13::bigint, $14::text,
            $15::text)
          ON CONFLICT (workspace_id) DO UPDATE SET is_enabled = excluded.is_enabled,
            uses = excluded.uses, endpoint = excluded.endpoint, model = excluded.model,
            key_id = excluded.key_id, ciphertext = excluded.ciphertext,
            token_limit = excluded.token_limit, tokens_per_day = excluded.tokens_per_day,
            tokens_per_month = excluded.tokens_per_month,
            timeout_seconds = excluded.timeout_seconds, automatic = excluded.automatic,
            automatic_notice = excluded.automatic_notice, updated_at = now()
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        VALUES ($1::uuid, $2::uuid, $3::text, 'assist.changed', jsonb_build_object(
          'enabled', $4::boolean, 'uses', string_to_array($5::text, ' '), 'endpoint', $6::text,
          'model', $7::text, 'has_key', $8::text IS NOT NULL, 'tokens_per_day', $11::bigint,
          'tokens_per_month', $12::bigint, 'automatic', $14::text))
        """,
        actor.parameters + [
          .bool(isEnabled), .text(uses.joined(separator: " ")), .text(endpoint), .text(model),
          .text(key?.keyID), key.map { .bytes($0.bytes) } ?? .null, .text(tokenLimit),
          .int(tokensPerDay), .int(tokensPerMonth), .int(timeoutSeconds), .text(automatic),
          .text(automaticNotice),
        ]))
  }

  /// False if there are none. What was counted stays.
  public static func delete(by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM assist_settings WHERE workspace_id = $1::uuid RETURNING endpoint
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'assist.deleted',
          jsonb_build_object('endpoint', endpoint)
        FROM gone RETURNING id
        """, actor.parameters)
    ) { !$0.isEmpty }
  }
}
