/// Authenticated encryption of single records. The contexts belong to a loop, not to a connection:
/// they take a kilobyte each, and setting a key costs less than the system call that follows.
import COpenSSL
import Synchronization

@safe final class TLSAEAD {
  private var sealers: [OpaquePointer?] = unsafe [nil, nil, nil]
  private var openers: [OpaquePointer?] = unsafe [nil, nil, nil]
  /// Which keys each context has now: the marks are unique in the process, so that a connection
  /// that comes from another loop is not taken for one whose keys are set.
  private var sealMarks: [UInt64] = [0, 0, 0]
  private var openMarks: [UInt64] = [0, 0, 0]
  private var lastMark = TLSAEAD.count.add(1, ordering: .relaxed).newValue << 40
  private static let count = Atomic<UInt64>(0)

  deinit {
    // SAFETY: both lists own what they hold.
    unsafe sealers.forEach { unsafe EVP_CIPHER_CTX_free($0) }
    unsafe openers.forEach { unsafe EVP_CIPHER_CTX_free($0) }
  }

  private func context(_ suite: TLSSuite, seals: Bool) -> OpaquePointer {
    let index = Int(suite.rawValue)
    if let context = unsafe seals ? sealers[index] : openers[index] { return unsafe context }
    // SAFETY: the context is new and owned by the list.
    let made = unsafe EVP_CIPHER_CTX_new()
    let isReady = unsafe EVP_CipherInit_ex(made, suite.cipher, nil, nil, nil, seals ? 1 : 0)
    guard let made = unsafe made, isReady == 1 else {
      preconditionFailure("OpenSSL has no cipher context")
    }
    if seals { unsafe sealers[index] = made } else { unsafe openers[index] = made }
    return unsafe made
  }

  /// Sets the keys of a connection, unless they are set: the records that follow are its own.
  func use(_ suite: TLSSuite, _ traffic: inout TLSTraffic, seals: Bool) {
    let index = Int(suite.rawValue)
    let current = seals ? sealMarks[index] : openMarks[index]
    guard traffic.mark == 0 || traffic.mark != current else { return }
    lastMark += 1
    traffic.mark = lastMark
    if seals { sealMarks[index] = lastMark } else { openMarks[index] = lastMark }
    let context = unsafe context(suite, seals: seals)
    // SAFETY: the key has room for the longest of the three suites and is read during the call.
    let isSet = unsafe traffic.withKey { key in
      unsafe EVP_CipherInit_ex(context, nil, nil, key, nil, seals ? 1 : 0)
    }
    precondition(isSet == 1, "OpenSSL cannot set a key")
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
    let context = unsafe context(suite, seals: true)
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
    let context = unsafe context(suite, seals: false)
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
