import COpenSSL
import Primitives

/// One digest after the other of texts that come in parts. It looks up the algorithm and allocates
/// once instead of per digest, which would take three times as long as the digest of a message.
@safe public struct SHA256Context: ~Copyable {
  private let context: OpaquePointer
  private let algorithm: OpaquePointer

  public init() {
    // SAFETY: both are owned here and freed in `deinit`.
    guard let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil),
      let context = unsafe EVP_MD_CTX_new()
    else { preconditionFailure("OpenSSL cannot compute SHA-256") }
    unsafe self.algorithm = algorithm
    unsafe self.context = context
  }

  deinit {
    // SAFETY: owned here, and not used after.
    unsafe EVP_MD_CTX_free(context)
    unsafe EVP_MD_free(algorithm)
  }

  public func begin() {
    // SAFETY: both live as long as this value.
    let isDone = unsafe EVP_DigestInit_ex2(context, algorithm, nil)
    precondition(isDone == 1, "OpenSSL cannot compute SHA-256")
  }

  public func update(_ bytes: RawSpan) {
    // SAFETY: the buffer lives through the call.
    let isDone = unsafe bytes.withUnsafeBytes {
      unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count)
    }
    precondition(isDone == 1, "OpenSSL cannot compute SHA-256")
  }

  public func update(_ text: StaticString) {
    // SAFETY: a StaticString's pointer is valid for its `utf8CodeUnitCount` bytes permanently.
    let isDone = unsafe EVP_DigestUpdate(context, text.utf8Start, text.utf8CodeUnitCount)
    precondition(isDone == 1, "OpenSSL cannot compute SHA-256")
  }

  public func finish(to bytes: inout [UInt8]) {
    unsafe bytes.append(upTo: SHA256.byteCount) { room in
      var written: UInt32 = 0
      // SAFETY: SHA-256 writes exactly `byteCount` bytes, which is the size of the room.
      let isDone = unsafe EVP_DigestFinal_ex(
        context, room.baseAddress?.assumingMemoryBound(to: UInt8.self), &written)
      precondition(
        isDone == 1 && Int(written) == SHA256.byteCount, "OpenSSL cannot compute SHA-256")
      return Int(written)
    }
  }
}
