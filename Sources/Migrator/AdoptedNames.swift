/// The names of what migrations add to tables that they adopt. `down` removes these alone: an
/// application goes on changing its own tables after it has moved in.
///
/// Invariant: complete (a test compares it with the catalogue of a new database).
enum AdoptedNames {
  static let indexes = [
    "workspaces_public_key_key", "chirrup_legacy_rows", "chirrup_linked_rows",
    "idx_chats_session_id", "idx_chats_session_created", "idx_chat_sessions_workspace_id",
    "idx_chat_sessions_user_id", "idx_chat_sessions_created_at", "idx_chat_sessions_active",
    "idx_chat_sessions_line", "idx_chat_sessions_load", "idx_chat_sessions_claimed_at",
    "idx_chat_sessions_held", "idx_chat_sessions_team", "idx_chat_sessions_team_line",
    "idx_chat_sessions_deleted", "chat_sessions_workspace_and_id",
    "chat_sessions_closed_at",
    "system_settings_workspace_key", "intents_workspace_name", "reply_objects_workspace_object",
    "reply_objects_shortcut",
  ]

  /// Those of triggers that keep updated_at depend on the table.
  static let triggers = [
    "chats_number_message", "chats_note_unused", "chats_move_message", "chats_note_deletions",
    "chats_note_truncation", "chats_outbox", "chat_sessions_outbox", "chat_sessions_count_closed",
    "chat_sessions_count_inserted", "chat_sessions_count_deleted", "chat_sessions_figures",
    "chat_sessions_message_figures", "chat_sessions_new_figures", "chat_sessions_note_deletion",
    "chat_sessions_note_title", "chat_sessions_status_check", "chat_sessions_deleted_via_check",
  ]

  /// Without the name of the table, which they all begin with. Those of columns that Chirrup adds
  /// go with the column.
  static let constraints = [
    "_role_check", "_session_id_fkey", "_are_numbered", "_status_check", "_deleted_via_check",
    "_assigned_operator_id_fkey", "_workspace_id_fkey", "_match_kind_check", "_replies_check",
    "_object_type_check", "_object_id_check", "_shortcut_check", "_team_fkey",
  ]

  /// Whether a column, index, trigger, policy or constraint of a table has one of these names.
  static let function = """
    CREATE OR REPLACE FUNCTION chirrup_is_given(wanted text, kind text, name text)
    RETURNS boolean LANGUAGE sql IMMUTABLE AS $f$
      SELECT CASE kind
        WHEN 'column' THEN EXISTS (SELECT FROM (VALUES \(Preflight.knownColumns))
          AS k (relation, name, types, use) WHERE k.relation = wanted AND k.name = $3)
        WHEN 'index' THEN name = ANY (ARRAY[\(list(indexes))])
        WHEN 'trigger' THEN name = ANY (ARRAY[\(list(triggers))])
          OR name IN (wanted || '_updated_at', 'chirrup_' || wanted || '_updated_at')
        WHEN 'policy' THEN name LIKE 'chirrup\\_%'
          OR name ~ ('^' || wanted || '_(select|insert|update|delete)$')
        WHEN 'constraint' THEN
          regexp_replace(name, '[0-9]*$', '') = ANY (SELECT wanted || suffix
            FROM unnest(ARRAY[\(list(constraints))]) AS suffix)
      END
    $f$;

    """

  static func list(_ names: [String]) -> String {
    names.map { "'\($0)'" }.joined(separator: ", ")
  }
}
