/// The encryption of a push message for one browser (RFC 8291): the content coding `aes128gcm` (RFC
/// 8188) with one record, under a key that only the browser can derive. The push service, which
/// carries the message, cannot read it.
public import OpenSSL

public enum PushEncryption {
  public static let saltByteCount = 16
  /// Bytes of the secret that authenticates the sender to the browser (RFC 8291 §3.2).
  public static let authByteCount = 16
  /// RFC 8291 §4: the record is not longer than 4,096 bytes.
  private static let recordBytes: UInt32 = 4_096
  /// What remains of them without the delimiter and the tag, and without the header, since push
  /// services count the header too (RFC 8030 §7.2).
  public static let plainBytesMax = 4_096 - 1 - AES256GCM.tagByteCount - headerByteCount
  /// Salt, record size, length of the key id, key id (RFC 8188 §2.1).
  private static let headerByteCount = saltByteCount + 4 + 1 + P256Key.pointByteCount

  /// The body of the request.
  ///
  /// - Parameters:
  ///   - point: the browser's public key.
  ///   - auth: the browser's authentication secret.
  ///   - key: the sender's key of this message only.
  ///   - salt: random, of this message only.
  /// - Returns: nil if `point` is not on the curve, or the text is too long.
  public static func seal(
    _ plain: [UInt8], for point: [UInt8], auth: [UInt8], key: P256Key = P256Key(),
    salt: [UInt8] = SecureRandom.bytes(saltByteCount)
  ) -> [UInt8]? {
    precondition(salt.count == saltByteCount, "a salt has 16 bytes")
    guard plain.count <= plainBytesMax, let shared = key.sharedSecret(with: point) else {
      return nil
    }
    // RFC 8291 §3.4, then RFC 8188 §2.2 and §2.3.
    let secret = HKDFSHA256.derive(
      salt: auth, secret: shared, info: Array("WebPush: info\0".utf8) + point + key.point,
      count: 32)
    let contentKey = HKDFSHA256.derive(
      salt: salt, secret: secret, info: Array("Content-Encoding: aes128gcm\0".utf8),
      count: AES128GCM.keyByteCount)
    let nonce = HKDFSHA256.derive(
      salt: salt, secret: secret, info: Array("Content-Encoding: nonce\0".utf8),
      count: AES256GCM.nonceByteCount)
    let size = (0..<4).map { UInt8(truncatingIfNeeded: recordBytes >> (24 - 8 * $0)) }
    let header = salt + size + [UInt8(key.point.count)] + key.point
    // The delimiter of the last record is 2 (RFC 8188 §2).
    return header + AES128GCM.seal(plain + [2], key: contentKey, nonce: nonce)
  }
}
