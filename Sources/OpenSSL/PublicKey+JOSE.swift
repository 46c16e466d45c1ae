/// Keys and signatures in the forms of JSON Web Keys and Signatures (RFC 7517, RFC 7518), turned
/// into those that `PublicKey` verifies.
import COpenSSL

extension PublicKey {
  /// Bytes of r and of s, and of a coordinate, on P-256.
  private static let p256Bytes = 32

  /// The key of an RSA modulus and exponent, big-endian (RFC 7518 §6.3.1); nil if it is not usable
  /// for RS256.
  public static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8]? {
    guard !modulus.isEmpty, modulus.count <= byteCountMax, !exponent.isEmpty, exponent.count <= 8
    else { return nil }
    // SAFETY: both numbers live through the call, which writes at most the room.
    return unsafe usable(for: .rs256) { der in
      unsafe modulus.withUnsafeBufferPointer { n in
        unsafe exponent.withUnsafeBufferPointer { e in
          unsafe chirrup_rsa_key(
            n.baseAddress, n.count, e.baseAddress, e.count, der.baseAddress, der.count)
        }
      }
    }
  }

  /// The key of a point of P-256 (RFC 7518 §6.2.1); nil if it is not on the curve.
  public static func p256(x: [UInt8], y: [UInt8]) -> [UInt8]? {
    guard x.count == p256Bytes, y.count == p256Bytes else { return nil }
    var point = [0x04] + x + y
    // SAFETY: the point lives through the call, which writes at most the room.
    return unsafe usable(for: .es256) { der in
      unsafe point.withUnsafeMutableBufferPointer { point in
        unsafe chirrup_p256_key(point.baseAddress, point.count, der.baseAddress, der.count)
      }
    }
  }

  /// Whether a signature in the form of a JSON Web Signature is the key's: that of ES256 is r‖s
  /// (RFC 7518 §3.4).
  public static func isValidJOSE(
    _ signature: [UInt8], for bytes: [UInt8], key der: [UInt8], _ algorithm: SignatureAlgorithm
  ) -> Bool {
    switch algorithm {
    case .rs256: return isValid(signature, for: bytes, key: der, .rs256)
    case .es256:
      guard signature.count == 2 * p256Bytes else { return false }
      // SAFETY: 64 bytes are read, and at most the room is written.
      let inDER = unsafe written(bytesMax: 80) { room in
        unsafe signature.withUnsafeBufferPointer { raw in
          unsafe chirrup_ecdsa_signature(raw.baseAddress, room.baseAddress, room.count)
        }
      }
      return isValid(inDER, for: bytes, key: der, .es256)
    }
  }

  private static func usable(
    for algorithm: SignatureAlgorithm, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) -> [UInt8]? {
    // A failed call leaves errors in the queue of the thread, where TLS would find them.
    defer { ERR_clear_error() }
    // SAFETY: `write` obeys the room that it is given.
    let der = unsafe written(bytesMax: byteCountMax, write)
    return isUsable(der, for: algorithm) ? der : nil
  }

  private static func written(
    bytesMax: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) -> [UInt8] {
    // SAFETY: `write` returns the number of bytes that it has written.
    unsafe [UInt8](unsafeUninitializedCapacity: bytesMax) { room, count in
      count = unsafe write(room)
    }
  }
}
