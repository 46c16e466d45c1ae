/// SHA-256 and HMAC-SHA-256 from OpenSSL's libcrypto.
///
/// This target is the only importer of OpenSSL. One-step calls need no handle. They fail only when
/// the library is broken, so a failure is a fault of the installation and not of the input.
import COpenSSL
import Synchronization

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Bytes of a digest.
  public static let byteCount = 32

  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: byteCount)
    var written: UInt32 = 0
    // SAFETY: both buffers live through the call, and SHA-256 writes exactly `byteCount` bytes.
    let succeeded = unsafe bytes.withUnsafeBytes { input in
      unsafe digest.withUnsafeMutableBufferPointer { output in
        unsafe EVP_Digest(
          input.baseAddress, input.count, output.baseAddress, &written, EVP_sha256(), nil)
      }
    }
    precondition(succeeded == 1 && Int(written) == byteCount, "OpenSSL cannot compute SHA-256")
    return digest
  }
}

/// HMAC with SHA-256 (RFC 2104).
public enum HMACSHA256 {
  /// Bytes of a code.
  public static let byteCount = 32

  public static func code(for bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    precondition(key.count <= Int(Int32.max), "an HMAC key is at most 2 GiB")
    var code = [UInt8](repeating: 0, count: byteCount)
    var written: UInt32 = 0
    // SAFETY: the three buffers live through the call, and HMAC-SHA-256 writes exactly `byteCount`
    // bytes. An empty key is passed as a pointer with length 0, because a null key means "reuse the
    // last one".
    let result = unsafe (key.isEmpty ? [0] : key).withUnsafeBytes { secret in
      unsafe bytes.withUnsafeBufferPointer { input in
        unsafe code.withUnsafeMutableBufferPointer { output in
          unsafe HMAC(
            EVP_sha256(), secret.baseAddress, Int32(key.count), input.baseAddress, input.count,
            output.baseAddress, &written) != nil
        }
      }
    }
    precondition(result && Int(written) == byteCount, "OpenSSL cannot compute HMAC-SHA-256")
    return code
  }

  /// Whether `code` is the code of `bytes`; compared in constant time.
  public static func isValid(_ code: [UInt8], for bytes: [UInt8], key: [UInt8]) -> Bool {
    constantTimeEquals(code, HMACSHA256.code(for: bytes, key: key))
  }
}

/// A key for many codes of HMAC-SHA-256. It looks up the algorithm and prepares the key once
/// instead of per code, which would take ten times as long as the code of a token.
@safe public final class HMACSHA256Key: Sendable {
  /// The context may only be used by one thread at a time: the lock is held for a microsecond.
  private let context: Mutex<OpaquePointer?>

  public init(_ key: [UInt8]) {
    precondition(!key.isEmpty, "the key is empty")
    // SAFETY: OpenSSL copies key and parameters; the context has a reference to the algorithm and
    // is freed in `deinit`.
    let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
    let made = unsafe EVP_MAC_CTX_new(algorithm)
    unsafe EVP_MAC_free(algorithm)
    let isReady = unsafe key.withUnsafeBufferPointer { bytes in
      unsafe chirrup_hmac_sha256(made, bytes.baseAddress, bytes.count)
    }
    precondition(isReady == 1, "OpenSSL cannot compute HMAC-SHA-256")
    unsafe context = Mutex(made)
  }

  deinit {
    // SAFETY: owned here; freeing overwrites the key.
    unsafe context.withLock { unsafe EVP_MAC_CTX_free($0) }
  }

  public func code(for bytes: RawSpan) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: HMACSHA256.byteCount)
    var written = 0
    let isComputed = unsafe context.withLock { context in
      // SAFETY: both buffers live through the calls, and the code has exactly `byteCount` bytes.
      unsafe bytes.withUnsafeBytes { input in
        unsafe code.withUnsafeMutableBufferPointer { output in
          unsafe EVP_MAC_init(context, nil, 0, nil) == 1
            && EVP_MAC_update(
              context, input.baseAddress?.assumingMemoryBound(to: UInt8.self), input.count) == 1
            && EVP_MAC_final(context, output.baseAddress, &written, output.count) == 1
        }
      }
    }
    precondition(isComputed && written == HMACSHA256.byteCount, "OpenSSL cannot compute HMAC")
    return code
  }

  /// Whether `code` is the code of `bytes`; compared in constant time.
  public func isValid(_ code: [UInt8], for bytes: RawSpan) -> Bool {
    constantTimeEquals(code, self.code(for: bytes))
  }
}

/// Compares secrets in a time that depends only on their length.
public func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  // SAFETY: both buffers hold `left.count` bytes and live through the call.
  return unsafe left.withUnsafeBytes { first in
    unsafe right.withUnsafeBytes { second in
      unsafe CRYPTO_memcmp(first.baseAddress, second.baseAddress, first.count) == 0
    }
  }
}
