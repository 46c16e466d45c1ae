/// Authenticated encryption of single records. Cipher contexts take a kilobyte each, so they belong
/// to a loop and not to a connection. The most recently active connections keep their keys in a
/// context, so that they need not set a key per record; idle connections have none.
import COpenSSL
import Synchronization

@safe final class TLSAEAD {
  /// Connections per suite and direction whose keys stay set.
  static let connectionsMax = 256

  /// The contexts of one suite and direction, created as needed.
  @safe private struct Pool {
    var contexts: [OpaquePointer] = unsafe []
    /// The connection whose keys each context has. Marks are unique in the process, so that a
    /// connection from another loop is not mistaken for an earlier one.
    var marks: [UInt64] = []
    /// Contexts of closed connections, so that there are no more contexts than connections.
    var vacant: [UInt16] = []
    /// The context to reassign next if none is vacant.
    var next = 0
  }

  private var pools = [Pool](repeating: Pool(), count: 2 * TLSSuite.allCases.count)
  /// The contexts of the connection of the last `use`.
  private var sealer: OpaquePointer?
  private var opener: OpaquePointer?
  private var lastMark = TLSAEAD.count.add(1, ordering: .relaxed).newValue << 40
  private static let count = Atomic<UInt64>(0)

  deinit {
    // SAFETY: the pools own their contexts.
    for pool in pools { unsafe pool.contexts.forEach { unsafe EVP_CIPHER_CTX_free($0) } }
  }

  /// The number of contexts of all suites and directions.
  var contextCount: Int { pools.reduce(0) { $0 + $1.marks.count } }

  /// Selects a connection for the following records, and sets its keys unless they are set.
  func use(_ suite: TLSSuite, _ traffic: inout TLSTraffic, seals: Bool) {
    let index = 2 * Int(suite.rawValue) + (seals ? 1 : 0)
    var slot = Int(traffic.slot)
    if slot >= pools[index].marks.count || pools[index].marks[slot] != traffic.mark {
      slot = settle(index, suite, &traffic, seals: seals)
    }
    if seals {
      unsafe sealer = pools[index].contexts[slot]
    } else {
      unsafe opener = pools[index].contexts[slot]
    }
  }

  private func settle(
    _ index: Int, _ suite: TLSSuite, _ traffic: inout TLSTraffic, seals: Bool
  ) -> Int {
    let slot: Int
    if let vacant = pools[index].vacant.popLast() {
      slot = Int(vacant)
    } else if pools[index].marks.count < TLSAEAD.connectionsMax {
      slot = pools[index].marks.count
      unsafe pools[index].contexts.append(TLSAEAD.make(suite, seals: seals))
      pools[index].marks.append(0)
    } else {
      slot = pools[index].next
      pools[index].next = (slot + 1) % TLSAEAD.connectionsMax
    }
    lastMark += 1
    pools[index].marks[slot] = lastMark
    traffic.mark = lastMark
    traffic.slot = UInt16(slot)
    let context = unsafe pools[index].contexts[slot]
    // SAFETY: the key has room for the longest of the three suites and is read during the call.
    let isSet = unsafe traffic.withKey { key in
      unsafe EVP_CipherInit_ex(context, nil, nil, key, nil, seals ? 1 : 0)
    }
    precondition(isSet == 1, "OpenSSL cannot set a key")
    return slot
  }

  private static func make(_ suite: TLSSuite, seals: Bool) -> OpaquePointer {
    // SAFETY: the context is new and owned by the pool.
    let made = unsafe EVP_CIPHER_CTX_new()
    let isReady = unsafe EVP_CipherInit_ex(made, suite.cipher, nil, nil, nil, seals ? 1 : 0)
    guard let made = unsafe made, isReady == 1 else {
      preconditionFailure("OpenSSL cannot create a cipher context")
    }
    return unsafe made
  }

  /// Overwrites a connection's keys in the contexts: it was closed, has new keys, or moves to
  /// another loop.
  func forget(_ suite: TLSSuite, _ traffic: borrowing TLSTraffic, seals: Bool) {
    let index = 2 * Int(suite.rawValue) + (seals ? 1 : 0)
    let slot = Int(traffic.slot)
    guard slot < pools[index].marks.count, pools[index].marks[slot] == traffic.mark else { return }
    pools[index].marks[slot] = 0
    pools[index].vacant.append(traffic.slot)
    let zeros = [UInt8](repeating: 0, count: suite.keyBytes)
    // SAFETY: the array has the length of the suite's key.
    let isSet = unsafe zeros.withUnsafeBufferPointer { key in
      unsafe EVP_CipherInit_ex(
        pools[index].contexts[slot], nil, nil, key.baseAddress, nil, seals ? 1 : 0)
    }
    precondition(isSet == 1, "OpenSSL cannot set a key")
  }

  /// For tests: the encryption of a block of zeros with a nonce of zeros by each context of a suite
  /// and direction, which identifies its key.
  func fingerprints(_ suite: TLSSuite, seals: Bool) -> [[UInt8]] {
    let index = 2 * Int(suite.rawValue) + (seals ? 1 : 0)
    return unsafe pools[index].contexts.map { context in
      unsafe TLSAEAD.start(context, [12 of UInt8](repeating: 0), seals: seals)
      var block = [UInt8](repeating: 0, count: 16)
      var written: Int32 = 0
      // SAFETY: input and output are the same 16 bytes, which the ciphers permit.
      let isGood = unsafe block.withUnsafeMutableBufferPointer { bytes in
        unsafe EVP_CipherUpdate(context, bytes.baseAddress, &written, bytes.baseAddress, 16)
      }
      return isGood == 1 ? block : []
    }
  }

  private static func start(
    _ context: OpaquePointer, _ nonce: [12 of UInt8], seals: Bool
  ) {
    var nonce = nonce
    // SAFETY: the nonce has 12 bytes, the length for all three ciphers.
    let isSet = unsafe withUnsafeMutableBytes(of: &nonce) { bytes in
      unsafe EVP_CipherInit_ex(
        context, nil, nil, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
        seals ? 1 : 0)
    }
    precondition(isSet == 1, "OpenSSL cannot set a nonce")
  }

  /// RFC 8446 §5.2: authenticates the header at the start of `record`, encrypts the content and its
  /// type after it, and appends the tag.
  func seal(
    _ suite: TLSSuite, nonce: [12 of UInt8], content: UnsafeRawBufferPointer, type: UInt8,
    record: UnsafeMutablePointer<UInt8>
  ) {
    guard let context = unsafe sealer else { preconditionFailure("call `use` first") }
    unsafe TLSAEAD.start(context, nonce, seals: true)
    let body = unsafe record + TLSRecords.headerBytes
    var type = type
    var written: Int32 = 0
    // SAFETY: the caller reserved room for header, content, type and tag; the content is at most a
    // record's, so its count fits.
    var isGood = unsafe EVP_EncryptUpdate(
      context, nil, &written, record, Int32(TLSRecords.headerBytes))
    if content.count > 0 {
      let input = unsafe content.baseAddress?.assumingMemoryBound(to: UInt8.self)
      isGood &= unsafe EVP_EncryptUpdate(context, body, &written, input, Int32(content.count))
    }
    let tail = unsafe body + content.count
    isGood &= unsafe EVP_EncryptUpdate(context, tail, &written, &type, 1)
    isGood &= unsafe EVP_EncryptFinal_ex(context, tail + 1, &written)
    isGood &= unsafe EVP_CIPHER_CTX_ctrl(
      context, EVP_CTRL_AEAD_GET_TAG, Int32(TLSSuite.tagBytes), tail + 1)
    precondition(isGood == 1, "OpenSSL cannot encrypt")
  }

  /// Decrypts a record in place, after its header. If it returns false, the record is not authentic
  /// and must not be used.
  func open(
    _ suite: TLSSuite, nonce: [12 of UInt8], record: UnsafeMutablePointer<UInt8>, bodyCount: Int
  ) -> Bool {
    guard let context = unsafe opener else { preconditionFailure("call `use` first") }
    unsafe TLSAEAD.start(context, nonce, seals: false)
    let body = unsafe record + TLSRecords.headerBytes
    let count = bodyCount - TLSSuite.tagBytes
    var written: Int32 = 0
    // SAFETY: the caller checked that header and body are within its buffer and that the body is
    // longer than a tag; the ciphers permit input and output to be the same.
    var isGood = unsafe EVP_DecryptUpdate(
      context, nil, &written, record, Int32(TLSRecords.headerBytes))
    isGood &= unsafe EVP_DecryptUpdate(context, body, &written, body, Int32(count))
    isGood &= unsafe EVP_CIPHER_CTX_ctrl(
      context, EVP_CTRL_AEAD_SET_TAG, Int32(TLSSuite.tagBytes), body + count)
    isGood &= unsafe EVP_DecryptFinal_ex(context, body + count, &written)
    if isGood != 1 { ERR_clear_error() }
    return isGood == 1
  }
}
