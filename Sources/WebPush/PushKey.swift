/// The key pair with which the gateways identify themselves to push services (RFC 8292): made by
/// the gateway that needs it first, and shared by all of them through the database. A browser's
/// subscription is bound to it, so it stays.
public import Directory
public import OpenSSL
import Postgres

public enum PushKey {
  /// The place to which `SecretBox` binds the private key.
  private static let place = "push key"

  public struct Stored: Sendable, Equatable {
    public var point: [UInt8]
    var secret: SecretBox.Sealed

    /// Nil if the key that encrypted it is not configured any longer.
    public func open(by secrets: SecretBox) -> P256Key? {
      secrets.open(secret, place: place).flatMap { P256Key(scalar: $0, point: point) }
    }

    /// Encrypts it with the key that seals now; nil if it is, or cannot be opened.
    func resealed(by secrets: SecretBox) -> Query? {
      guard !secrets.isCurrent(secret), let key = open(by: secrets) else { return nil }
      let sealed = secrets.seal(key.scalar, place: place)
      return Query(
        """
        UPDATE push_keys SET key_id = $1::text, ciphertext = $2::bytea WHERE point = $3::bytea
        """, [.text(sealed.keyID), .bytes(sealed.bytes), .bytes(point)])
    }
  }

  public static var find: Statement<Stored?> {
    Statement(Query("SELECT point, key_id, ciphertext FROM push_keys"), answer: decode)
  }

  /// Stores a new key, unless there is one; returns the one that is stored then.
  public static func make(_ key: P256Key, sealedBy secrets: SecretBox) -> Statement<Stored?> {
    let sealed = secrets.seal(key.scalar, place: place)
    return Statement(
      Query(
        """
        INSERT INTO push_keys AS k (point, key_id, ciphertext)
        VALUES ($1::bytea, $2::text, $3::bytea)
        ON CONFLICT (is_ours) DO UPDATE SET key_id = k.key_id
        RETURNING point, key_id, ciphertext
        """, [.bytes(key.point), .text(sealed.keyID), .bytes(sealed.bytes)]),
      answer: decode)
  }

  @Sendable private static func decode(_ rows: Rows) -> Stored? {
    guard !rows.isEmpty, let point = rows.bytes(0, 0), let keyID = rows.text(0, 1),
      let bytes = rows.bytes(0, 2)
    else { return nil }
    return Stored(point: point, secret: SecretBox.Sealed(keyID: keyID, bytes: bytes))
  }
}
