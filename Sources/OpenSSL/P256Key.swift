/// A private key of the curve P-256: it agrees on secrets (ECDH, RFC 8291 §3.1) and signs (ES256,
/// RFC 7518 §3.4).
import COpenSSL

@safe public final class P256Key: Sendable {
  public static let scalarByteCount = 32
  /// Of an uncompressed point (SEC 1 §2.3.3).
  public static let pointByteCount = 65
  private static let signatureByteCount = 64
  private static let derSignatureBytesMax = 80

  /// The private key, big-endian.
  public let scalar: [UInt8]
  /// The public key.
  public let point: [UInt8]

  /// A new random key.
  public init() {
    var scalar = [UInt8](repeating: 0, count: P256Key.scalarByteCount)
    var point = [UInt8](repeating: 0, count: P256Key.pointByteCount)
    // SAFETY: the buffers have the sizes that the function writes, and live through the call.
    let isMade = unsafe scalar.withUnsafeMutableBufferPointer { scalar in
      unsafe point.withUnsafeMutableBufferPointer { point in
        unsafe chirrup_p256_generate(scalar.baseAddress, point.baseAddress)
      }
    }
    precondition(isMade == 1, "OpenSSL cannot generate a key of P-256")
    self.scalar = scalar
    self.point = point
  }

  /// A stored key; nil if the two are not one key of the curve.
  public init?(scalar: [UInt8], point: [UInt8]) {
    guard scalar.count == P256Key.scalarByteCount, P256Key.isPoint(point) else { return nil }
    self.scalar = scalar
    self.point = point
    let x = Array(point[1..<33])
    guard let der = PublicKey.p256(x: x, y: Array(point[33...])), let signature = signed(x),
      PublicKey.isValidJOSE(signature, for: x, key: der, .es256)
    else { return nil }
  }

  /// Whether the bytes are an uncompressed point of the curve.
  public static func isPoint(_ point: [UInt8]) -> Bool {
    point.count == pointByteCount && point[0] == 0x04
      && PublicKey.p256(x: Array(point[1..<33]), y: Array(point[33...])) != nil
  }

  /// The signature r‖s of ES256.
  public func signature(of bytes: [UInt8]) -> [UInt8] {
    guard let signature = signed(bytes) else {
      preconditionFailure("OpenSSL cannot sign with a key that has signed before")
    }
    return signature
  }

  /// The secret shared with the owner of another public key (the x-coordinate, RFC 8291 §3.1); nil
  /// if `point` is not on the curve.
  public func sharedSecret(with point: [UInt8]) -> [UInt8]? {
    guard point.count == P256Key.pointByteCount, point[0] == 0x04,
      let der = PublicKey.p256(x: Array(point[1..<33]), y: Array(point[33...]))
    else { return nil }
    // SAFETY: keys and context are freed in this scope; the buffers live through the calls, and the
    // secret of P-256 has 32 bytes.
    return unsafe withKey { own -> [UInt8]? in
      let other = unsafe der.withUnsafeBufferPointer { bytes in
        var next = bytes.baseAddress
        return unsafe d2i_PUBKEY(nil, &next, bytes.count)
      }
      defer { unsafe EVP_PKEY_free(other) }
      let context = unsafe EVP_PKEY_CTX_new(own, nil)
      defer { unsafe EVP_PKEY_CTX_free(context) }
      var secret = [UInt8](repeating: 0, count: P256Key.scalarByteCount)
      var count = secret.count
      let isDerived = unsafe secret.withUnsafeMutableBufferPointer { room in
        unsafe EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, other) == 1
          && EVP_PKEY_derive(context, room.baseAddress, &count) == 1
      }
      return isDerived && count == P256Key.scalarByteCount ? secret : nil
    }
  }

  private func signed(_ bytes: [UInt8]) -> [UInt8]? {
    // SAFETY: the key lives through the closure, the context is freed in its scope, and the buffers
    // live through the calls; at most the room is written.
    unsafe withKey { key -> [UInt8]? in
      let context = unsafe EVP_MD_CTX_new()
      defer { unsafe EVP_MD_CTX_free(context) }
      var der = [UInt8](repeating: 0, count: P256Key.derSignatureBytesMax)
      var raw = [UInt8](repeating: 0, count: P256Key.signatureByteCount)
      var count = der.count
      let isSigned = unsafe der.withUnsafeMutableBufferPointer { room in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestSign(context, room.baseAddress, &count, bytes.baseAddress, bytes.count)
              == 1
        }
      }
      guard isSigned else { return nil }
      let isWritten = unsafe der.withUnsafeBufferPointer { der in
        unsafe raw.withUnsafeMutableBufferPointer { raw in
          unsafe chirrup_ecdsa_raw(der.baseAddress, count, raw.baseAddress)
        }
      }
      return isWritten == 1 ? raw : nil
    }
  }

  /// Calls `body` with the parsed key; nil without a call if OpenSSL refuses it.
  private func withKey(_ body: (OpaquePointer) -> [UInt8]?) -> [UInt8]? {
    // A failed call leaves errors in the queue of the thread, where TLS would find them.
    defer { ERR_clear_error() }
    // SAFETY: scalar and point have the sizes that the function reads.
    let made = unsafe scalar.withUnsafeBufferPointer { scalar in
      unsafe point.withUnsafeBufferPointer { point in
        unsafe chirrup_p256_private(scalar.baseAddress, point.baseAddress)
      }
    }
    guard let key = unsafe made else { return nil }
    // SAFETY: owned here.
    defer { unsafe EVP_PKEY_free(key) }
    return unsafe body(key)
  }
}
