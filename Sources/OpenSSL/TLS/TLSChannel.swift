/// OpenSSL's way to the bytes of a connection: a BIO that reads from what the socket gave and
/// appends to what the socket will be sent. One for each loop, shared by its connections, since
/// only one of them is driven at a time: an idle connection keeps no BIO of its own.
import COpenSSL

@safe final class TLSChannel {
  /// Ciphertext for the peer.
  var output: [UInt8] = []
  fileprivate var input: UnsafeRawPointer?
  fileprivate(set) var inputCount = 0
  /// Whose SSL is being called: OpenSSL's callbacks name it by this, so that no SSL keeps a table
  /// of its own for that.
  private var core: Unmanaged<TLSCore>?
  let bio: OpaquePointer

  init() {
    // SAFETY: the method table is made once and lives for ever.
    guard let made = unsafe BIO_new(TLSChannel.method) else {
      preconditionFailure("OpenSSL has no memory for a BIO")
    }
    unsafe bio = made
    // SAFETY: the BIO is in use only during calls that the owner of this channel makes; an SSL that
    // has moved to another loop is given that loop's BIO before its next call.
    unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    unsafe BIO_set_init(bio, 1)
  }

  deinit {
    // SAFETY: whoever still holds the BIO finds nobody behind it.
    unsafe BIO_set_data(bio, nil)
    unsafe BIO_free(bio)
  }

  /// Lends bytes to OpenSSL for the time of the call, and says how many it took.
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

  /// The core whose SSL calls back.
  static func core(of ssl: OpaquePointer?) -> TLSCore? {
    // SAFETY: callbacks come during calls only, whose core is alive and has attached itself.
    unsafe TLSChannel.of(SSL_get_rbio(ssl))?.core?.takeUnretainedValue()
  }

  /// Gives the SSL this channel's BIO in both directions, for the calls that follow.
  func attach(_ ssl: OpaquePointer, of owner: TLSCore) {
    unsafe core = Unmanaged.passUnretained(owner)
    // SAFETY: both are valid, and SSL_set_bio takes one reference when both are the same.
    guard unsafe SSL_get_rbio(ssl) != bio else { return }
    unsafe BIO_up_ref(bio)
    unsafe SSL_set_bio(ssl, bio, bio)
  }

  // SAFETY: written once, before anybody can see it.
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
    // SAFETY: the data is the channel that made the BIO, or NULL after its end.
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
    // SAFETY: `taken` is within what is lent here and within the room that OpenSSL offers.
    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: from, byteCount: taken)
    unsafe input = from + taken
    inputCount -= taken
    return Int32(taken)
  }

  private func write(_ buffer: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
    // SAFETY: OpenSSL offers `count` bytes for the time of the call.
    unsafe output.append(
      contentsOf: UnsafeRawBufferPointer(start: UnsafeRawPointer(buffer), count: count))
    return Int32(count)
  }
}
