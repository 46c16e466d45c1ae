/// Verifies signatures of the two algorithms that passkeys have: ES256 (ECDSA on P-256 with
/// SHA-256) and RS256 (RSA PKCS #1 v1.5 with SHA-256).
///
/// The algorithm is stated with the key, never by the signature, and the key must be of its kind:
/// so no signature can choose how it is verified.
import COpenSSL

/// By the numbers of COSE (RFC 9053 §2.1, RFC 8812 §2).
public enum SignatureAlgorithm: Int64, Sendable, CaseIterable {
  case es256 = -7
  case rs256 = -257
}

public enum PublicKey {
  /// Bytes of the longest accepted key: RSA with 4,096 bits has about 550.
  public static let byteCountMax = 1_024
  private static let rsaBits: ClosedRange<Int32> = 2_048...4_096

  /// Whether the bytes are a public key for this algorithm.
  ///
  /// - Parameter der: SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7).
  public static func isUsable(_ der: [UInt8], for algorithm: SignatureAlgorithm) -> Bool {
    // SAFETY: the key is not used.
    unsafe withKey(der, algorithm) { _ in true }
  }

  /// Whether a signature is the key's. That of ES256 is in DER (RFC 3279 §2.2.3).
  public static func isValid(
    _ signature: [UInt8], for bytes: [UInt8], key der: [UInt8], _ algorithm: SignatureAlgorithm
  ) -> Bool {
    guard !signature.isEmpty, !bytes.isEmpty else { return false }
    // SAFETY: the key lives through the closure. The context is freed in its scope, and all buffers
    // live through the calls. RSA keys use PKCS #1 v1.5 unless the context says otherwise.
    return unsafe withKey(der, algorithm) { key in
      guard let context = unsafe EVP_MD_CTX_new() else { return false }
      defer { unsafe EVP_MD_CTX_free(context) }
      return unsafe signature.withUnsafeBufferPointer { signature in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(
              context, signature.baseAddress, signature.count, bytes.baseAddress, bytes.count) == 1
        }
      }
    }
  }

  /// Calls `body` with the parsed key; false without a call if it is not one for the algorithm.
  private static func withKey(
    _ der: [UInt8], _ algorithm: SignatureAlgorithm, _ body: (OpaquePointer) -> Bool
  ) -> Bool {
    guard !der.isEmpty, der.count <= byteCountMax else { return false }
    // A failed call leaves errors in the queue of the thread, where TLS would find them.
    defer { ERR_clear_error() }
    // SAFETY: `d2i_PUBKEY` reads `count` bytes from `next`, which it moves to the end of the key.
    let parsed = unsafe der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
      var next = bytes.baseAddress
      let key = unsafe d2i_PUBKEY(nil, &next, bytes.count)
      guard unsafe next == bytes.baseAddress.map({ unsafe $0 + bytes.count }) else {
        unsafe EVP_PKEY_free(key)
        return nil
      }
      return unsafe key
    }
    guard let key = unsafe parsed else { return false }
    // SAFETY: owned here since it was parsed.
    defer { unsafe EVP_PKEY_free(key) }
    guard unsafe isOf(algorithm, key) else { return false }
    return unsafe body(key)
  }

  private static func isOf(_ algorithm: SignatureAlgorithm, _ key: OpaquePointer) -> Bool {
    switch algorithm {
    // SAFETY: the key lives through the calls. The function reads its curve.
    case .es256: unsafe chirrup_is_p256(key) == 1
    case .rs256: unsafe EVP_PKEY_is_a(key, "RSA") == 1 && rsaBits.contains(EVP_PKEY_get_bits(key))
    }
  }
}
