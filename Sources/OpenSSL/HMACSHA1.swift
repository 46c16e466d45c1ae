/// HMAC with SHA-1 (RFC 2104), which the apps for one-time codes use (RFC 6238 §1.2). The weakness
/// of SHA-1 against collisions does not concern HMAC.
import COpenSSL

public enum HMACSHA1 {
  /// Bytes of a code.
  public static let byteCount = 20

  public static func code(for bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    precondition(!key.isEmpty && key.count <= Int(Int32.max), "an HMAC key has 1 byte to 2 GiB")
    var code = [UInt8](repeating: 0, count: byteCount)
    var written: UInt32 = 0
    // SAFETY: the three buffers live through the call, and HMAC-SHA-1 writes exactly `byteCount`
    // bytes.
    let result = unsafe key.withUnsafeBytes { secret in
      unsafe bytes.withUnsafeBufferPointer { input in
        unsafe code.withUnsafeMutableBufferPointer { output in
          unsafe HMAC(
            EVP_sha1(), secret.baseAddress, Int32(key.count), input.baseAddress, input.count,
            output.baseAddress, &written) != nil
        }
      }
    }
    precondition(result && Int(written) == byteCount, "OpenSSL cannot compute HMAC-SHA-1")
    return code
  }
}
