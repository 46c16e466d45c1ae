/// A browser that gets push messages: the address at its push service, and the keys for which
/// messages are encrypted (Push API §8). It belongs to a login and ends with it.
///
/// The address alone allows sending, so the database has all of it encrypted.
public import Directory
import JSON
import OpenSSL
import Postgres
public import Primitives
public import Webhooks

public struct PushSubscription: Sendable, Equatable {
  public enum Fault: Error, Equatable, Sendable {
    case address(WebhookAddress.Fault)
    /// Only development and tests send without TLS.
    case notSecure
    /// Not a point of P-256.
    case key
    /// Not 16 bytes.
    case auth
  }

  /// Bytes of the longest address; those of the known services have 200 to 600.
  public static let addressBytesMax = 2_048

  public let address: String
  /// The browser's public key.
  public let point: [UInt8]
  /// Its authentication secret.
  public let auth: [UInt8]

  /// - Parameters:
  ///   - point: `p256dh` in base64url.
  ///   - auth: `auth` in base64url.
  public init(
    address: String, point: String, auth: String, under addressGuard: AddressGuard
  ) throws(Fault) {
    do throws(WebhookAddress.Fault) {
      self.address = try WebhookAddress(address, under: addressGuard).url
    } catch {
      throw .address(error)
    }
    guard address.hasPrefix("https://") || addressGuard.allowsPrivate else { throw .notSecure }
    guard let point = Base64.url.decode(point.utf8), P256Key.isPoint(point) else { throw .key }
    guard let auth = Base64.url.decode(auth.utf8), auth.count == PushEncryption.authByteCount
    else { throw .auth }
    (self.point, self.auth) = (point, auth)
  }

  /// From the database; nil if it was stored by another program.
  init?(_ stored: [UInt8]) {
    guard stored.count > P256Key.pointByteCount + PushEncryption.authByteCount else { return nil }
    let keys = stored.prefix(P256Key.pointByteCount + PushEncryption.authByteCount)
    point = Array(keys.prefix(P256Key.pointByteCount))
    auth = Array(keys.dropFirst(P256Key.pointByteCount))
    guard let address = String(validating: stored.dropFirst(keys.count), as: UTF8.self) else {
      return nil
    }
    self.address = address
  }

  /// As it is encrypted: public key, secret, address.
  var stored: [UInt8] { point + auth + Array(address.utf8) }

  /// Scheme, host and port of the push service, the audience of its tokens (RFC 8292 §2).
  public var origin: String {
    let scheme = address.prefix { $0 != ":" }
    let authority = address.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" }
    return "\(scheme)://\(authority)".lowercased()
  }

  /// The place to which `SecretBox` binds the subscription of a login.
  static func place(of login: Identifier) -> String { "push:\(login)" }
}

/// What an operator wants to be sent on a device.
public struct PushChoices: Sendable, Equatable {
  /// New conversations that the operator may claim.
  public var waiting: Bool
  /// Messages in the operator's own conversations.
  public var messages: Bool
  /// With the text of the visitor's message, which then stands on a locked screen.
  public var texts: Bool

  public init(waiting: Bool = true, messages: Bool = true, texts: Bool = false) {
    self.waiting = waiting
    self.messages = messages
    self.texts = texts
  }
}

extension PushSubscription {
  /// The id and the choices of the login; nil without such a login.
  public static func find(
    login tokenHash: [UInt8]
  ) -> Statement<(login: Identifier, choices: PushChoices?)?> {
    Statement(
      Query(
        """
        SELECT s.id, p.waiting, p.messages, p.texts
        FROM operator_sessions s LEFT JOIN push_subscriptions p ON p.login_id = s.id
        WHERE s.token_hash = $1::bytea
        """, [.bytes(tokenHash)])
    ) { rows in
      guard !rows.isEmpty, let login = rows.uuid(0, 0) else { return nil }
      guard let waiting = rows.bool(0, 1), let messages = rows.bool(0, 2),
        let texts = rows.bool(0, 3)
      else { return (login, nil) }
      return (login, PushChoices(waiting: waiting, messages: messages, texts: texts))
    }
  }

  /// Stores the subscription of a login, or replaces it: its browser has one. Events from then on
  /// are pushed. False if the login has ended.
  public func put(
    login: Identifier, _ choices: PushChoices, sealedBy secrets: SecretBox, by actor: AuditActor
  ) -> Statement<Bool> {
    let sealed = secrets.seal(stored, place: PushSubscription.place(of: login))
    return Statement(
      Query(
        PushSubscription.putSQL,
        actor.parameters + [
          .uuid(login), .text(sealed.keyID), .bytes(sealed.bytes), .bool(choices.waiting),
          .bool(choices.messages), .bool(choices.texts),
        ])
    ) { !$0.isEmpty }
  }

  /// What was pushed to the login stays noted. New choices of the same browser are no event for the
  /// audit log.
  private static let putSQL: StaticString = """
    WITH known AS (
      SELECT FROM push_subscriptions WHERE login_id = $4::uuid
    ), made AS (
      INSERT INTO push_subscriptions AS p (login_id, key_id, ciphertext, waiting, messages, texts)
      SELECT id, $5::text, $6::bytea, $7::boolean, $8::boolean, $9::boolean FROM operator_sessions
      WHERE id = $4::uuid AND workspace_id = $1::uuid AND operator_id = $2::uuid
      ON CONFLICT (login_id) DO UPDATE SET key_id = excluded.key_id,
        ciphertext = excluded.ciphertext, waiting = excluded.waiting, messages = excluded.messages,
        texts = excluded.texts, created_at = now(), paused_until = NULL, failures = 0,
        failing_since = NULL
      RETURNING login_id
    ), audited AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
      SELECT $1::uuid, $2::uuid, $3::text, 'push.added', login_id FROM made
      WHERE NOT EXISTS (SELECT FROM known)
    )
    SELECT login_id FROM made
    """

  /// Deletes the subscription of a login; false if it has none.
  public static func delete(login: Identifier, by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM push_subscriptions p USING operator_sessions s
          WHERE p.login_id = $4::uuid AND s.id = p.login_id AND s.operator_id = $2::uuid
          RETURNING p.login_id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'push.removed', login_id FROM gone RETURNING target_id
        """, actor.parameters + [.uuid(login)])
    ) { !$0.isEmpty }
  }
}
