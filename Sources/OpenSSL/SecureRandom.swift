/// Random bytes for keys, tokens and salts from OpenSSL's generator, which is seeded by the kernel
/// and thread-safe.
import COpenSSL
import Primitives

public enum SecureRandom {
  /// A failing generator ends the process, because it must not issue predictable secrets.
  public static func bytes(_ count: Int) -> [UInt8] {
    precondition(count >= 0 && count <= Int(Int32.max), "a count of random bytes is 0 to 2^31 - 1")
    var bytes = [UInt8](repeating: 0, count: count)
    // SAFETY: the buffer holds `count` bytes and lives through the call.
    let succeeded = unsafe bytes.withUnsafeMutableBufferPointer { output in
      unsafe RAND_bytes(output.baseAddress, Int32(output.count))
    }
    precondition(succeeded == 1, "OpenSSL cannot generate random bytes")
    return bytes
  }

  public static func word() -> UInt64 {
    bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// A secret as text: `byteCount` random bytes in base64url (RFC 4648 §5), so 43 characters for 32
  /// bytes.
  public static func token(byteCount: Int = 32) -> String {
    Base64.url.encode(bytes(byteCount))
  }
}
