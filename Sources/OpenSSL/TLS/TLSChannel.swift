/// OpenSSL's access to the bytes of a connection: a BIO that reads received bytes and appends to
/// the bytes to send. Each loop has one for all its connections, because only one of them is
/// processed at a time; so an idle connection needs no BIO.
import COpenSSL

@safe final class TLSChannel {
  /// Ciphertext for the peer.
  var output: [UInt8] = []
  fileprivate var input: UnsafeRawPointer?
  fileprivate(set) var inputCount = 0
  /// The owner of the SSL being called: OpenSSL's callbacks find it here, so that no SSL needs its
  /// own table of data.
  private var core: Unmanaged<TLSCore>?
  let bio: OpaquePointer

  init() {
    // SAFETY: the method table is created once and never freed.
    guard let made = unsafe BIO_new(TLSChannel.method) else {
      preconditionFailure("OpenSSL has no memory for a BIO")
    }
    unsafe bio = made
    // SAFETY: the BIO is used only during calls by the owner of this channel; an SSL that moved to
    // another loop gets that loop's BIO before its next call.
    unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    unsafe BIO_set_init(bio, 1)
  }

  deinit {
    // SAFETY: remaining references to the BIO find no channel.
    unsafe BIO_set_data(bio, nil)
    unsafe BIO_free(bio)
  }

  /// Lends bytes to OpenSSL during the call, and returns how many it consumed.
  func lend<Result>(
    _ bytes: UnsafeRawPointer?, _ count: Int, _ call: () -> Result
  ) -> (result: Result, taken: Int) {
    unsafe input = bytes
    inputCount = count
    let result = call()
    let taken = count - inputCount
    unsafe input = nil
    inputCount = 0
    return (result, taken)
  }

  /// The core whose SSL makes the callback.
  static func core(of ssl: OpaquePointer?) -> TLSCore? {
    // SAFETY: callbacks occur only during calls of a core, which is alive and attached.
    unsafe TLSChannel.of(SSL_get_rbio(ssl))?.core?.takeUnretainedValue()
  }

  /// Sets this channel's BIO for both directions of the SSL.
  func attach(_ ssl: OpaquePointer, of owner: TLSCore) {
    unsafe core = Unmanaged.passUnretained(owner)
    // SAFETY: both are valid; SSL_set_bio takes one reference when both BIOs are the same.
    guard unsafe SSL_get_rbio(ssl) != bio else { return }
    unsafe BIO_up_ref(bio)
    unsafe SSL_set_bio(ssl, bio, bio)
  }

  // SAFETY: written once, before it is published.
  nonisolated(unsafe) private static let method: OpaquePointer? = {
    let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "chirrup")
    unsafe BIO_meth_set_read(method) { bio, buffer, count in
      unsafe TLSChannel.of(bio)?.read(bio, buffer, Int(count)) ?? -1
    }
    unsafe BIO_meth_set_write(method) { bio, buffer, count in
      unsafe TLSChannel.of(bio)?.write(buffer, Int(count)) ?? -1
    }
    unsafe BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return unsafe method
  }()

  private static func of(_ bio: OpaquePointer?) -> TLSChannel? {
    // SAFETY: the data is the channel that created the BIO, or NULL after its end.
    guard let data = unsafe BIO_get_data(bio) else { return nil }
    return unsafe Unmanaged<TLSChannel>.fromOpaque(data).takeUnretainedValue()
  }

  private func read(
    _ bio: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ count: Int
  ) -> Int32 {
    let taken = min(count, inputCount)
    guard let from = unsafe input, let buffer = unsafe buffer, taken > 0 else {
      unsafe chirrup_bio_retry_read(bio)
      return -1
    }
    // SAFETY: `taken` is within the lent bytes and within OpenSSL's buffer.
    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: from, byteCount: taken)
    unsafe input = from + taken
    inputCount -= taken
    return Int32(taken)
  }

  private func write(_ buffer: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
    // SAFETY: OpenSSL lends `count` bytes during the call.
    unsafe output.append(
      contentsOf: UnsafeRawBufferPointer(start: UnsafeRawPointer(buffer), count: count))
    return Int32(count)
  }
}
