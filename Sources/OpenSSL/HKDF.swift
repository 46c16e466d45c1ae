import COpenSSL

/// HKDF with SHA-256 (RFC 5869).
public enum HKDFSHA256 {
  /// - Parameters:
  ///   - secret: the input keying material.
  ///   - count: the bytes to derive, at most 255 times those of a digest.
  public static func derive(
    salt: [UInt8], secret: [UInt8], info: [UInt8], count: Int
  ) -> [UInt8] {
    precondition(count > 0 && count <= 255 * SHA256.byteCount, "RFC 5869 §2.3")
    var (salt, secret, info) = (salt, secret, info)
    var output = [UInt8](repeating: 0, count: count)
    // SAFETY: all buffers live through the call, which writes `count` bytes to the output only.
    let isDerived = unsafe salt.withUnsafeMutableBufferPointer { salt in
      unsafe secret.withUnsafeMutableBufferPointer { secret in
        unsafe info.withUnsafeMutableBufferPointer { info in
          unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe chirrup_hkdf_sha256(
              salt.baseAddress, salt.count, secret.baseAddress, secret.count, info.baseAddress,
              info.count, output.baseAddress, output.count)
          }
        }
      }
    }
    precondition(isDerived == 1, "OpenSSL cannot compute HKDF")
    return output
  }
}
