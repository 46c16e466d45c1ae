/// SHA-256 (FIPS 180-4) of bytes that come in pieces, for files that do not fit into memory.
import COpenSSL

@safe public struct SHA256Stream: ~Copyable {
  private let context: OpaquePointer

  public init() {
    guard let made = unsafe EVP_MD_CTX_new(), unsafe EVP_DigestInit_ex(made, EVP_sha256(), nil) == 1
    else { preconditionFailure("OpenSSL cannot compute SHA-256") }
    unsafe context = made
  }

  deinit {
    // SAFETY: owned here.
    unsafe EVP_MD_CTX_free(context)
  }

  public mutating func update(_ bytes: RawSpan) {
    // SAFETY: the bytes outlive the call.
    let isTaken = unsafe bytes.withUnsafeBytes { input in
      unsafe EVP_DigestUpdate(context, input.baseAddress, input.count)
    }
    precondition(isTaken == 1, "OpenSSL cannot compute SHA-256")
  }

  /// The digest; nothing may follow.
  public consuming func digest() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: SHA256.byteCount)
    var written: UInt32 = 0
    // SAFETY: the buffer has the size of the digest.
    let isComputed = unsafe EVP_DigestFinal_ex(context, &digest, &written)
    precondition(
      isComputed == 1 && Int(written) == digest.count, "OpenSSL cannot compute SHA-256")
    return digest
  }
}
