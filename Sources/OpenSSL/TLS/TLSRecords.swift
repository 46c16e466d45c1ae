/// The record layer of an established TLS 1.3 connection (RFC 8446 §5), on the server's side.
///
/// Only used with `tls.compact_records`, because it was not audited by others. Its reason: OpenSSL
/// 3.0 keeps 13.4 KiB per connection, while an established connection needs only two keys, two IVs
/// and two counters. The handshake, with all negotiation, verification and signing, is OpenSSL's;
/// then its traffic secrets move here, and its object is freed. The encryption is OpenSSL's too. At
/// each start `TLSSelfTest` compares the first records with OpenSSL's. TLS 1.2, and connections
/// with `max_fragment_length`, stay with OpenSSL.
///
/// Invariant: nothing is decrypted after a fault, an alert or a close_notify (§6.1: later data is
/// ignored), and no sequence number is used twice.
import COpenSSL
import Primitives

@safe final class TLSRecords {
  static let headerBytes = 5
  /// §5.1, §5.2: the limits of a record's content, and of its growth by encryption.
  static let contentBytesMax = 16_384
  static let bodyBytesMax = contentBytesMax + 256
  /// §5.4: content, type and padding together.
  static let innerBytesMax = contentBytesMax + 1
  static let recordBytesMax = headerBytes + bodyBytesMax
  /// Bytes added by sealing: header, content type and tag.
  static let overheadBytes = headerBytes + 1 + TLSSuite.tagBytes
  /// Key updates that a peer may request without sending data in between.
  static let keyUpdatesMax: UInt8 = 32
  /// Consecutive records without content.
  static let emptyRecordsMax: UInt8 = 32
  /// §5.5: AES-GCM keys are limited to 2^24.5 records; our keys are updated after this many.
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
  // SAFETY: overlapping accesses are not checked at run time, to save the check per record: a
  // connection belongs to one loop, and no closure called here calls back. The same applies below.
  @exclusivity(unchecked) private var reading: TLSTraffic
  @exclusivity(unchecked) private var writing: TLSTraffic
  private let recordsPerKey: UInt64
  /// The beginning of an incomplete record.
  private(set) var held: [UInt8] = []
  /// A fragmented key update (§5.1 allows it); at most five bytes.
  private var message: [UInt8] = []
  private var keyUpdatesLeft = TLSRecords.keyUpdatesMax
  private var emptyRecordsLeft = TLSRecords.emptyRecordsMax
  /// Further input is ignored.
  private var hasEnded = false

  /// - Parameter written: records already sent with `writeSecret`.
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

  /// Copies the held bytes to the front of the buffer; returns the offset for the socket's bytes.
  func prepare(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard !held.isEmpty else { return 0 }
    let count = held.count
    // SAFETY: less than one record is held, and the buffer is larger.
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
      // SAFETY: the header is within the buffer by the guard above and the cursor's bounds.
      let record = unsafe buffer.baseAddress.unsafelyUnwrapped.advanced(by: cursor.next)
        .assumingMemoryBound(to: UInt8.self)
      let count = unsafe Int(record[3]) << 8 | Int(record[4])
      // §5.2: all records after the handshake are protected and have the type of application data.
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
      // §5.4: the limit includes the padding.
      guard count - TLSSuite.tagBytes <= TLSRecords.innerBytesMax else {
        return fail(.recordTooLong, .recordOverflow, aead, &output)
      }
      // The content type is the last byte that is no padding.
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

  /// Handles a record's content; nil to continue with the next record.
  private func take(
    _ type: UInt8, _ content: Range<Int>, _ buffer: UnsafeMutableRawBufferPointer,
    _ aead: TLSAEAD, _ output: inout [UInt8]
  ) -> TLSStep? {
    // §5.1: no other record may come between the fragments of a handshake message.
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
      // §5.4: alerts and handshake messages must not be empty.
      guard !content.isEmpty else {
        return fail(.unexpectedMessage, .unexpectedMessage, aead, &output)
      }
      guard content.count == 2 else { return fail(.malformed, .decodeError, aead, &output) }
      switch unsafe Alert(rawValue: buffer[content.lowerBound + 1]) {
      case .closeNotify:
        hasEnded = true
        return .closed
      case .userCanceled:
        // §6.1: a close_notify follows. It counts as an empty record, to bound their number.
        guard emptyRecordsLeft > 0 else {
          return fail(.emptyRecords, .unexpectedMessage, aead, &output)
        }
        emptyRecordsLeft -= 1
        return nil
      // §6.2: every other alert ends the connection and is not answered.
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

  /// §4.6.3: a key update is the only handshake message that a client may send now.
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
      // SAFETY: the range is within the buffer.
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

  /// Seals as many bytes as `room` allows, in records of maximum size; returns their number.
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

  /// The connection was closed, or moves to another loop.
  func forget(_ aead: TLSAEAD) {
    unsafe aead.forget(suite, reading, seals: false)
    unsafe aead.forget(suite, writing, seals: true)
  }

  func close(_ aead: TLSAEAD, _ output: inout [UInt8]) {
    append(.closeNotify, isFatal: false, aead, &output)
  }

  /// Sends a key update (`update_not_requested`) and overwrites the old keys here and in the loop's
  /// contexts.
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
    // SAFETY: header, content, type and tag fill the reserved room exactly; the excess bytes of the
    // header's word are overwritten by the body.
    unsafe output.append(upTo: TLSRecords.headerBytes + body) { room in
      unsafe room.storeBytes(of: header.bigEndian, as: UInt64.self)
      unsafe aead.seal(
        suite, nonce: nonce, content: content, type: type,
        record: room.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self))
      return TLSRecords.headerBytes + body
    }
  }
}
