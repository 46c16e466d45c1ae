import Postgres
public import Primitives

extension SigningKey {
  /// A key as it is stored: encrypted with a key of the setting `credentials_key`, or in clear if
  /// there is none.
  public struct Stored: Sendable, Equatable {
    public enum Secret: Sendable, Equatable {
      case clear([UInt8])
      case sealed(SecretBox.Sealed)
    }

    public var id: String
    public var secret: Secret
    public var startsAt: WallTime
    public var endsAt: WallTime?

    public var isEncrypted: Bool { if case .sealed = secret { true } else { false } }

    /// Columns: id, secret, key_id, ciphertext, starts_at, ends_at.
    init?(_ rows: Rows, _ row: Int) {
      guard row < rows.count, let id = rows.text(row, 0), let clear = rows.bytes(row, 1),
        let startsAt = rows.time(row, 4)
      else { return nil }
      self.id = id
      if let keyID = rows.text(row, 2), let bytes = rows.bytes(row, 3) {
        secret = .sealed(SecretBox.Sealed(keyID: keyID, bytes: bytes))
      } else {
        secret = .clear(clear)
      }
      self.startsAt = startsAt
      endsAt = rows.time(row, 5)
    }

    /// Nil if the key that encrypted it is not configured.
    ///
    /// - Parameter box: of the setting `credentials_key`; nil: it is not set.
    public func open(by box: SecretBox?) -> SigningKey? {
      let bytes: [UInt8]? =
        switch secret {
        case .clear(let bytes): bytes
        case .sealed(let sealed): box?.open(sealed, place: SigningKey.place(id))
        }
      return bytes.map { opened($0) }
    }

    /// The key with a secret that is known already.
    public func opened(_ secret: [UInt8]) -> SigningKey {
      SigningKey(id: id, secret: secret, startsAt: startsAt, endsAt: endsAt)
    }
  }

  /// The place to which `SecretBox` binds a key.
  private static func place(_ id: String) -> String { "signing:\(id)" }

  /// The form in which a new secret is stored.
  public static func stored(_ secret: [UInt8], id: String, by box: SecretBox?) -> Stored.Secret {
    box.map { .sealed($0.seal(secret, place: place(id))) } ?? .clear(secret)
  }

  /// Encrypts a key again, unless another gateway has.
  ///
  /// - Returns: nil if it is encrypted with the key that seals now, or cannot be opened.
  public static func seal(_ stored: Stored, by box: SecretBox) -> Statement<Void>? {
    var old: String?
    if case .sealed(let sealed) = stored.secret {
      if box.isCurrent(sealed) { return nil }
      old = sealed.keyID
    }
    guard let key = stored.open(by: box) else { return nil }
    let sealed = SigningKey.stored(key.secret, id: key.id, by: box)
    return Statement(
      Query(
        """
        UPDATE signing_keys SET secret = $2::bytea, key_id = $3::text, ciphertext = $4::bytea
        WHERE id = $1::text AND key_id IS NOT DISTINCT FROM $5::text
        """, [.text(key.id)] + sealed.parameters + [.text(old)]))
  }
}

extension SigningKey.Stored.Secret {
  /// The columns secret, key_id and ciphertext.
  var parameters: [Parameter] {
    switch self {
    case .clear(let bytes): [.bytes(bytes), .text(nil), .null]
    case .sealed(let sealed): [.bytes([]), .text(sealed.keyID), .bytes(sealed.bytes)]
    }
  }
}
