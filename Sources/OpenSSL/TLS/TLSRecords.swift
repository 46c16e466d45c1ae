/// The record layer of an established TLS 1.3 connection (RFC 8446 §5), on the server's side.
///
/// Only with `tls.compact_records`: nobody else has audited this. Why it exists: OpenSSL 3.0 keeps
/// 13.4 KiB for each connection. What an established connection needs is two keys, two IVs and two
/// counters. So the handshake, with everything that negotiates, verifies or signs, is OpenSSL's;
/// then its traffic secrets move here and its object is freed. The cryptography remains OpenSSL's
/// too. `TLSSelfTest` compares the first records with OpenSSL's own at each start. TLS 1.2, and
/// connections with `max_fragment_length`, stay with OpenSSL altogether.
///
/// Invariant: after a fault, an alert or a close_notify nothing is decrypted any more (§6.1: it is
/// ignored), and no sequence number is used twice.
import COpenSSL
import Primitives

@safe final class TLSRecords {
  static let headerBytes = 5
  /// §5.1, §5.2: content of a record, and what encryption may add.
  static let contentBytesMax = 16_384
  static let bodyBytesMax = contentBytesMax + 256
  /// §5.4: content, its type and padding together.
  static let innerBytesMax = contentBytesMax + 1
  static let recordBytesMax = headerBytes + bodyBytesMax
  /// What sealing adds: header, content type and tag.
  static let overheadBytes = headerBytes + 1 + TLSSuite.tagBytes
  /// Key updates a peer may ask for without sending data in between.
  static let keyUpdatesMax: UInt8 = 32
  /// Records without content that may come one after the other.
  static let emptyRecordsMax: UInt8 = 32
  /// §5.5: AES-GCM keys last for 2^24.5 records; then we change ours.
  static let recordsPerKey: UInt64 = 1 << 24

  enum Content {
    static let changeCipherSpec: UInt8 = 20
    static let alert: UInt8 = 21
    static let handshake: UInt8 = 22
    static let applicationData: UInt8 = 23
  }

  enum Alert: UInt8 {
    case closeNotify = 0
    case unexpectedMessage = 10
    case badRecordMAC = 20
    case recordOverflow = 22
    case illegalParameter = 47
    case decodeError = 50
    case userCanceled = 90
  }

  let suite: TLSSuite
  // SAFETY: what is not checked at run time, with each record, is that accesses do not overlap: a
  // connection is its loop's alone, and nothing that is lent these calls back. Also below.
  @exclusivity(unchecked) private var reading: TLSTraffic
  @exclusivity(unchecked) private var writing: TLSTraffic
  private let recordsPerKey: UInt64
  /// The beginning of a record whose rest has not come.
  private(set) var held: [UInt8] = []
  /// A key update in pieces (§5.1 allows it); five bytes at most.
  private var message: [UInt8] = []
  private var keyUpdatesLeft = TLSRecords.keyUpdatesMax
  private var emptyRecordsLeft = TLSRecords.emptyRecordsMax
  /// Nothing that comes is of interest any more.
  private var hasEnded = false

  /// - Parameter written: records already sent under `writeSecret`.
  init(
    suite: TLSSuite, readSecret: [UInt8], writeSecret: [UInt8], written: UInt64,
    recordsPerKey: UInt64 = TLSRecords.recordsPerKey
  ) {
    self.suite = suite
    self.recordsPerKey = recordsPerKey
    unsafe reading = TLSTraffic(suite, secret: readSecret)
    unsafe writing = TLSTraffic(suite, secret: writeSecret)
    unsafe writing.sequence = written
  }

  deinit {
    unsafe reading.wipe()
    unsafe writing.wipe()
  }

  // MARK: Reading

  /// Puts what is held in front of what the socket will give, and returns where that belongs.
  func prepare(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard !held.isEmpty else { return 0 }
    let count = held.count
    // SAFETY: less than a record is held, and the buffer is larger than that.
    precondition(count < TLSRecords.recordBytesMax && buffer.count >= 2 * TLSRecords.recordBytesMax)
    unsafe held.withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
    held = []
    return count
  }

  /// Decrypts the next record in place. Alerts and key updates for the peer are appended to
  /// `output`.
  func open(
    _ buffer: UnsafeMutableRawBufferPointer, _ cursor: inout TLSCursor, _ aead: TLSAEAD,
    output: inout [UInt8]
  ) -> TLSStep {
    while true {
      guard !hasEnded else {
        cursor.next = cursor.end
        return .needMoreBytes
      }
      let available = cursor.end - cursor.next
      guard available >= TLSRecords.headerBytes else { return unsafe hold(buffer, &cursor) }
      // SAFETY: the header lies within the buffer, by the line above and the cursor's bounds.
      let record = unsafe buffer.baseAddress.unsafelyUnwrapped.advanced(by: cursor.next)
        .assumingMemoryBound(to: UInt8.self)
      let count = unsafe Int(record[3]) << 8 | Int(record[4])
      // §5.2: everything after the handshake is protected and looks like application data.
      guard unsafe record[0] == Content.applicationData else {
        return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
      }
      guard count <= TLSRecords.bodyBytesMax else {
        return fail(.recordTooLong, .recordOverflow, aead, &output)
      }
      guard count > TLSSuite.tagBytes else {
        return fail(.badRecord, .badRecordMAC, aead, &output)
      }
      guard available >= TLSRecords.headerBytes + count else { return unsafe hold(buffer, &cursor) }
      unsafe aead.use(suite, &reading, seals: false)
      let nonce = unsafe reading.nextNonce()
      guard unsafe aead.open(suite, nonce: nonce, record: record, bodyCount: count) else {
        return fail(.badRecord, .badRecordMAC, aead, &output)
      }
      let start = cursor.next + TLSRecords.headerBytes
      cursor.next = start + count
      // §5.4: padding makes no record longer than it could be without.
      guard count - TLSSuite.tagBytes <= TLSRecords.innerBytesMax else {
        return fail(.recordTooLong, .recordOverflow, aead, &output)
      }
      // The content type is the last byte that is not padding.
      var end = start + count - TLSSuite.tagBytes
      while end > start, unsafe buffer[end - 1] == 0 { end -= 1 }
      guard end > start else {
        return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
      }
      let type = unsafe buffer[end - 1]
      let content = start..<(end - 1)
      if let step = unsafe take(type, content, buffer, aead, &output) { return step }
    }
  }

  /// What a record says, or nil to go on with the next one.
  private func take(
    _ type: UInt8, _ content: Range<Int>, _ buffer: UnsafeMutableRawBufferPointer,
    _ aead: TLSAEAD, _ output: inout [UInt8]
  ) -> TLSStep? {
    // §5.1: nothing may stand between the parts of a handshake message.
    guard message.isEmpty || type == Content.handshake else {
      return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
    }
    switch type {
    case Content.applicationData:
      guard !content.isEmpty else {
        guard emptyRecordsLeft > 0 else {
          return fail(.emptyRecords, .unexpectedMessage, aead, &output)
        }
        emptyRecordsLeft -= 1
        return nil
      }
      emptyRecordsLeft = TLSRecords.emptyRecordsMax
      keyUpdatesLeft = TLSRecords.keyUpdatesMax
      return .plain(content)
    case Content.alert:
      // §5.4: alerts and handshake messages have a content.
      guard !content.isEmpty else {
        return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
      }
      guard content.count == 2 else { return fail(.malformed, .decodeError, aead, &output) }
      switch unsafe Alert(rawValue: buffer[content.lowerBound + 1]) {
      case .closeNotify:
        hasEnded = true
        return .closed
      case .userCanceled:
        // §6.1: a close_notify follows. It counts like an empty record, so that it cannot flood.
        guard emptyRecordsLeft > 0 else {
          return fail(.emptyRecords, .unexpectedMessage, aead, &output)
        }
        emptyRecordsLeft -= 1
        return nil
      // §6.2: every other alert ends the connection, and is not answered.
      default:
        hasEnded = true
        return .failed(.alert)
      }
    case Content.handshake:
      guard !content.isEmpty, message.count + content.count <= 5 else {
        return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
      }
      for index in content { unsafe message.append(buffer[index]) }
      return takeMessage(aead, &output)
    default:
      return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
    }
  }

  /// §4.6.3: the only handshake message that a client may send now is a key update.
  private func takeMessage(_ aead: TLSAEAD, _ output: inout [UInt8]) -> TLSStep? {
    let expected: [UInt8] = [24, 0, 0, 1]
    for (have, want) in zip(message, expected) where have != want {
      return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
    }
    guard message.count == 5 else { return nil }
    let isAnswerWanted = message[4] == 1
    guard message[4] <= 1 else { return fail(.malformed, .illegalParameter, aead, &output) }
    message = []
    guard keyUpdatesLeft > 0 else {
      return fail(.keyUpdates, .unexpectedMessage, aead, &output)
    }
    keyUpdatesLeft -= 1
    unsafe aead.forget(suite, reading, seals: false)
    unsafe reading.update(suite)
    if isAnswerWanted { updateKeys(aead, &output) }
    return nil
  }

  private func hold(
    _ buffer: UnsafeMutableRawBufferPointer, _ cursor: inout TLSCursor
  ) -> TLSStep {
    if cursor.next < cursor.end {
      // SAFETY: the range lies within the buffer.
      unsafe held = Array(UnsafeRawBufferPointer(rebasing: buffer[cursor.next..<cursor.end]))
    }
    cursor.next = cursor.end
    return .needMoreBytes
  }

  private func fail(
    _ fault: TLSFault, _ alert: Alert, _ aead: TLSAEAD, _ output: inout [UInt8]
  ) -> TLSStep {
    hasEnded = true
    append(alert, isFatal: true, aead, &output)
    return .failed(fault)
  }

  // MARK: Writing

  /// Seals as many bytes as `room` allows, in records of the largest size, and returns how many.
  func seal(
    _ plain: UnsafeRawBufferPointer, room: Int, _ aead: TLSAEAD, output: inout [UInt8]
  ) -> Int {
    var offset = 0
    let end = min(plain.count, room)
    while offset < end {
      if unsafe writing.sequence >= recordsPerKey { updateKeys(aead, &output) }
      let count = min(TLSRecords.contentBytesMax, end - offset)
      unsafe append(
        Content.applicationData,
        UnsafeRawBufferPointer(rebasing: plain[offset..<(offset + count)]), aead, &output)
      offset += count
    }
    return offset
  }

  /// The connection is over, or moves to another loop.
  func forget(_ aead: TLSAEAD) {
    unsafe aead.forget(suite, reading, seals: false)
    unsafe aead.forget(suite, writing, seals: true)
  }

  func close(_ aead: TLSAEAD, _ output: inout [UInt8]) {
    append(.closeNotify, isFatal: false, aead, &output)
  }

  /// Tells the peer that our next records have new keys (`update_not_requested`). Of the old ones
  /// nothing is left, here as in the loop's contexts.
  private func updateKeys(_ aead: TLSAEAD, _ output: inout [UInt8]) {
    append(Content.handshake, [24, 0, 0, 1, 0], aead, &output)
    unsafe aead.forget(suite, writing, seals: true)
    unsafe writing.update(suite)
  }

  private func append(
    _ alert: Alert, isFatal: Bool, _ aead: TLSAEAD, _ output: inout [UInt8]
  ) {
    append(Content.alert, [isFatal ? 2 : 1, alert.rawValue], aead, &output)
  }

  private func append(
    _ type: UInt8, _ content: [UInt8], _ aead: TLSAEAD, _ output: inout [UInt8]
  ) {
    unsafe content.withUnsafeBytes { unsafe append(type, $0, aead, &output) }
  }

  private func append(
    _ type: UInt8, _ content: UnsafeRawBufferPointer, _ aead: TLSAEAD, _ output: inout [UInt8]
  ) {
    let body = content.count + 1 + TLSSuite.tagBytes
    // §5.2: application data, version 1.2, and the length.
    let header = UInt64(0x17_0303) << 40 | UInt64(body) << 24
    unsafe aead.use(suite, &writing, seals: true)
    let nonce = unsafe writing.nextNonce()
    // SAFETY: header, content, type and tag fit exactly into the room that is asked for, and all of
    // it is written: what the header's word has too much is the body's, which comes after it.
    unsafe output.append(upTo: TLSRecords.headerBytes + body) { room in
      unsafe room.storeBytes(of: header.bigEndian, as: UInt64.self)
      unsafe aead.seal(
        suite, nonce: nonce, content: content, type: type,
        record: room.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self))
      return TLSRecords.headerBytes + body
    }
  }
}
