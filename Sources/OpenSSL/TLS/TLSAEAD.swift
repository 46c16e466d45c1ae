/// Authenticated encryption of single records. The contexts belong to a loop, not to a connection:
/// they take a kilobyte each. Those that spoke last keep theirs, so that who talks does not pay for
/// setting a key with each record, and who rests has none.
import COpenSSL
import Synchronization

@safe final class TLSAEAD {
  /// Connections of one suite that have their keys set, for each direction.
  static let connectionsMax = 256

  /// The contexts of one suite and direction, made as they are needed.
  @safe private struct Pool {
    var contexts: [OpaquePointer] = unsafe []
    /// Whose keys each context has. The marks are unique in the process, so that a connection that
    /// comes from another loop is not taken for one whose keys are set.
    var marks: [UInt64] = []
    /// Those whose connections are over, so that there are no more contexts than connections.
    var vacant: [UInt16] = []
    /// Where none is vacant, the one that is given away next.
    var next = 0
  }

  private var pools = [Pool](repeating: Pool(), count: 2 * TLSSuite.allCases.count)
  /// Those of the connection that `use` named last.
  private var sealer: OpaquePointer?
  private var opener: OpaquePointer?
  private var lastMark = TLSAEAD.count.add(1, ordering: .relaxed).newValue << 40
  private static let count = Atomic<UInt64>(0)

  deinit {
    // SAFETY: the pools own what they hold.
    for pool in pools { unsafe pool.contexts.forEach { unsafe EVP_CIPHER_CTX_free($0) } }
  }

  /// Contexts that are held, of all suites and directions.
  var contextCount: Int { pools.reduce(0) { $0 + $1.marks.count } }

  /// Sets the keys of a connection, unless they are set: the records that follow are its own.
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
    // SAFETY: the context is new and becomes the pool's.
    let made = unsafe EVP_CIPHER_CTX_new()
    let isReady = unsafe EVP_CipherInit_ex(made, suite.cipher, nil, nil, nil, seals ? 1 : 0)
    guard let made = unsafe made, isReady == 1 else {
      preconditionFailure("OpenSSL has no cipher context")
    }
    return unsafe made
  }

  /// The connection is over, has new keys, or moves to another loop: its keys are overwritten here
  /// too.
  func forget(_ suite: TLSSuite, _ traffic: borrowing TLSTraffic, seals: Bool) {
    let index = 2 * Int(suite.rawValue) + (seals ? 1 : 0)
    let slot = Int(traffic.slot)
    guard slot < pools[index].marks.count, pools[index].marks[slot] == traffic.mark else { return }
    pools[index].marks[slot] = 0
    pools[index].vacant.append(traffic.slot)
    let zeros = [UInt8](repeating: 0, count: suite.keyBytes)
    // SAFETY: the array has as many bytes as the suite's key.
    let isSet = unsafe zeros.withUnsafeBufferPointer { key in
      unsafe EVP_CipherInit_ex(
        pools[index].contexts[slot], nil, nil, key.baseAddress, nil, seals ? 1 : 0)
    }
    precondition(isSet == 1, "OpenSSL cannot set a key")
  }

  /// For tests: what each context of a suite and direction makes of a block of zeros under a nonce
  /// of zeros, which shows the key that it has.
  func fingerprints(_ suite: TLSSuite, seals: Bool) -> [[UInt8]] {
    let index = 2 * Int(suite.rawValue) + (seals ? 1 : 0)
    return unsafe pools[index].contexts.map { context in
      unsafe TLSAEAD.start(context, [12 of UInt8](repeating: 0), seals: seals)
      var block = [UInt8](repeating: 0, count: 16)
      var written: Int32 = 0
      // SAFETY: input and output are the same 16 bytes, which the ciphers allow.
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
    // SAFETY: the nonce has the 12 bytes that all three ciphers take.
    let isSet = unsafe withUnsafeMutableBytes(of: &nonce) { bytes in
      unsafe EVP_CipherInit_ex(
        context, nil, nil, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
        seals ? 1 : 0)
    }
    precondition(isSet == 1, "OpenSSL cannot set a nonce")
  }

  /// RFC 8446 §5.2: the header that `record` begins with is authenticated, the content and its type
  /// are encrypted behind it, and the tag ends the record.
  func seal(
    _ suite: TLSSuite, nonce: [12 of UInt8], content: UnsafeRawBufferPointer, type: UInt8,
    record: UnsafeMutablePointer<UInt8>
  ) {
    guard let context = unsafe sealer else { preconditionFailure("`use` comes first") }
    unsafe TLSAEAD.start(context, nonce, seals: true)
    let body = unsafe record + TLSRecords.headerBytes
    var type = type
    var written: Int32 = 0
    // SAFETY: the caller has made room for header, content, type and tag; the content is a record's
    // at most, so its count fits.
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

  /// Decrypts a record in place, behind its header; false if it is not authentic, and then nothing
  /// of it may be used.
  func open(
    _ suite: TLSSuite, nonce: [12 of UInt8], record: UnsafeMutablePointer<UInt8>, bodyCount: Int
  ) -> Bool {
    guard let context = unsafe opener else { preconditionFailure("`use` comes first") }
    unsafe TLSAEAD.start(context, nonce, seals: false)
    let body = unsafe record + TLSRecords.headerBytes
    let count = bodyCount - TLSSuite.tagBytes
    var written: Int32 = 0
    // SAFETY: the caller has checked that header and body lie within its buffer and that the body
    // is longer than a tag; the ciphers allow input and output to be the same.
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
