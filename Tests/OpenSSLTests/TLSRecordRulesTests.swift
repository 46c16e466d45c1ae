import Primitives
import Testing

@testable import OpenSSL

/// A client that seals arbitrary records after the handshake, and receives the answers.
private final class Forger {
  private static let (theirs, ours) = (
    [UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)
  )
  private let aead = TLSAEAD()
  private let server = TLSRecords(
    suite: .aes128, readSecret: theirs, writeSecret: ours, written: 0)
  private var writing = TLSTraffic(.aes128, secret: theirs)
  private let listener = TLSRecords(
    suite: .aes128, readSecret: ours, writeSecret: theirs, written: 0)
  private var stream: [UInt8] = []

  /// A record of this type; `padding` zeros follow it under the encryption.
  @discardableResult
  func seal(_ type: UInt8, _ content: [UInt8], padding: Int = 0) -> Forger {
    let inner = content + [type] + [UInt8](repeating: 0, count: padding)
    let body = inner.count + TLSSuite.tagBytes
    var record: [UInt8] = [23, 3, 3, UInt8(body >> 8), UInt8(body & 255)]
    record += [UInt8](repeating: 0, count: body)
    aead.use(.aes128, &writing, seals: true)
    let nonce = writing.nextNonce()
    // SAFETY: the record has room for its header, the content with its last byte, and the tag.
    unsafe inner.dropLast().withUnsafeBytes { content in
      unsafe record.withUnsafeMutableBufferPointer { bytes in
        unsafe aead.seal(
          .aes128, nonce: nonce, content: content, type: inner[inner.count - 1],
          record: bytes.baseAddress.unsafelyUnwrapped)
      }
    }
    return raw(record)
  }

  /// Sends bytes unchanged.
  @discardableResult
  func raw(_ bytes: [UInt8]) -> Forger {
    stream += bytes
    return self
  }

  func updateKeys() { writing.update(.aes128) }

  /// Skips a record number: later records are sealed with numbers that are too high.
  func skip() { _ = writing.nextNonce() }

  /// The result of all records: sizes of the plaintexts, the last step, and the alert.
  func deliver() -> (plain: [Int], last: TLSStep, alert: UInt8?) {
    var (plain, output): ([Int], [UInt8]) = ([], [])
    var last = TLSStep.needMoreBytes
    var cursor = TLSCursor(next: 0, end: stream.count)
    stepping: while true {
      // SAFETY: the array outlives the call.
      last = unsafe stream.withUnsafeMutableBytes {
        unsafe server.open($0, &cursor, aead, output: &output)
      }
      guard case .plain(let range) = last else { break stepping }
      plain.append(range.count)
    }
    stream.removeFirst(cursor.next)
    return (plain, last, alert(in: output))
  }

  private func alert(in sealed: [UInt8]) -> UInt8? {
    guard !sealed.isEmpty else { return nil }
    var copy = sealed
    var writing = TLSTraffic(.aes128, secret: Forger.ours)
    aead.use(.aes128, &writing, seals: false)
    let nonce = writing.nextNonce()
    // SAFETY: the array outlives the call.
    let isGood = unsafe copy.withUnsafeMutableBufferPointer { bytes in
      unsafe aead.open(
        .aes128, nonce: nonce, record: bytes.baseAddress.unsafelyUnwrapped,
        bodyCount: bytes.count - TLSRecords.headerBytes)
    }
    guard isGood, copy[5] == 2, copy[7] == 21 else { return nil }
    return copy[6]
  }
}

/// The rules of RFC 8446 for records after the handshake, by section.
@Suite("Rules of TLS 1.3's records") struct TLSRecordRulesTests {
  private static let keyUpdate: [UInt8] = [24, 0, 0, 1, 0]

  @Test("content, type and padding together have at most 2^14 + 1 bytes (§5.4)")
  func sizes() {
    let most = Forger().seal(23, [UInt8](repeating: 7, count: 16_384)).deliver()
    #expect(most.plain == [16_384] && most.last == .needMoreBytes)
    let padded = Forger().seal(23, [1, 2, 3], padding: 16_381).deliver()
    #expect(padded.plain == [3] && padded.last == .needMoreBytes)
    for (content, padding) in [(16_385, 0), (16_384, 1), (3, 16_382), (3, 16_620), (0, 16_385)] {
      let result = Forger().seal(
        23, [UInt8](repeating: 7, count: content), padding: padding
      ).deliver()
      #expect(result.plain.isEmpty && result.last == .failed(.recordTooLong))
      #expect(result.alert == 22)
    }
    // §5.2: above 2^14 + 256 the rest is not awaited.
    let long = Forger().raw([23, 3, 3, 0x41, 0x01]).deliver()
    #expect(long.last == .failed(.recordTooLong) && long.alert == 22)
  }

  @Test(
    "messages that are not allowed after the handshake end it with the specified alert",
    arguments: [
      (21, [], .unexpectedMessage, 10), (21, [1], .malformed, 50), (21, [1, 0, 0], .malformed, 50),
      (22, [], .unexpectedMessage, 10), (20, [1], .unexpectedMessage, 10),
      (99, [1], .unexpectedMessage, 10), (0, [0, 0, 0], .unexpectedMessage, 10),
      // Key updates: with an unknown request, a wrong length, more bytes after it (§5.1).
      (22, [24, 0, 0, 1, 2], .malformed, 47), (22, [24, 0, 0, 2, 0], .unexpectedMessage, 10),
      (22, [24, 0, 0, 1, 0, 0], .unexpectedMessage, 10),
      (22, [24, 0, 0, 1, 0, 24, 0, 0, 1, 0], .unexpectedMessage, 10),
      // A hello, a ticket, the end of early data, a certificate, a certificate request, a finished.
      (22, [1, 0, 0, 1, 0], .unexpectedMessage, 10), (22, [4, 0, 0, 1, 0], .unexpectedMessage, 10),
      (22, [5, 0, 0, 0], .unexpectedMessage, 10), (22, [11, 0, 0, 1, 0], .unexpectedMessage, 10),
      (22, [13, 0, 0, 1, 0], .unexpectedMessage, 10),
      (22, [20, 0, 0, 1, 0], .unexpectedMessage, 10),
    ] as [(UInt8, [UInt8], TLSFault, UInt8)])
  func forbidden(type: UInt8, content: [UInt8], fault: TLSFault, alert: UInt8) {
    let forger = Forger()
    let result = forger.seal(23, [1]).seal(type, content).seal(23, [1, 2]).deliver()
    #expect(result.plain == [1])
    #expect(result.last == .failed(fault))
    #expect(result.alert == alert)
    // Nothing more is decrypted.
    let after = forger.seal(23, [1, 2, 3]).deliver()
    #expect(after.plain.isEmpty && after.last == .needMoreBytes && after.alert == nil)
  }

  @Test(
    "unencrypted records are refused: change_cipher_spec, alerts, hellos (§5)",
    arguments: [20, 21, 22, 24, 0] as [UInt8])
  func clear(type: UInt8) {
    let result = Forger().raw([type, 3, 3, 0, 1, 1]).deliver()
    #expect(result.last == .failed(.unexpectedMessage) && result.alert == 10)
  }

  @Test("a record shorter than its tag and a type is not authentic (§5.2)", arguments: [0, 1, 16])
  func short(count: Int) {
    let result = Forger().raw(
      [23, 3, 3, 0, UInt8(count)] + [UInt8](repeating: 0, count: count)
    ).deliver()
    #expect(result.last == .failed(.badRecord) && result.alert == 20)
  }

  @Test("a key update applies from the next record on; its fragments must follow each other")
  func keyUpdates() {
    let forger = Forger()
    forger.seal(23, [1])
    for byte in Self.keyUpdate { forger.seal(22, [byte]) }
    forger.updateKeys()
    let good = forger.seal(23, [1, 2]).deliver()
    #expect(good.plain == [1, 2] && good.last == .needMoreBytes && good.alert == nil)
    // The old keys are invalid now.
    let old = forger.seal(22, Self.keyUpdate).seal(23, [1]).deliver()
    #expect(old.plain.isEmpty && old.last == .failed(.badRecord) && old.alert == 20)
    for (type, content) in [(23, [1]), (23, []), (21, [1, 0])] as [(UInt8, [UInt8])] {
      let interrupted = Forger().seal(22, [24, 0]).seal(type, content).deliver()
      #expect(interrupted.last == .failed(.unexpectedMessage) && interrupted.alert == 10)
    }
  }

  @Test("a missing record is detected by the next one (§5.3)")
  func missing() {
    let forger = Forger().seal(23, [1])
    forger.skip()
    let result = forger.seal(23, [1, 2]).deliver()
    #expect(result.plain == [1] && result.last == .failed(.badRecord))
  }

  @Test("data after a close_notify or a fatal alert is ignored (§6.1, §6.2)")
  func closed() {
    let forger = Forger().seal(23, [1]).seal(21, [1, 0]).seal(23, [1, 2])
    let result = forger.deliver()
    #expect(result.plain == [1] && result.last == .closed && result.alert == nil)
    let after = forger.seal(23, [1, 2, 3]).raw([1, 2, 3, 4, 5, 6]).deliver()
    #expect(after.plain.isEmpty && after.last == .needMoreBytes && after.alert == nil)
    // An alert is never answered.
    for alert in [[2, 20], [1, 20], [2, 255]] as [[UInt8]] {
      let failed = Forger().seal(21, alert).seal(23, [1]).deliver()
      #expect(failed.plain.isEmpty && failed.last == .failed(.alert) && failed.alert == nil)
    }
    // Only user_canceled is followed by a close_notify.
    let canceled = Forger().seal(21, [1, 90]).seal(21, [1, 0]).deliver()
    #expect(canceled.last == .closed)
  }

  @Test(
    "records without content are limited",
    arguments: [(23, []), (21, [1, 90])] as [(UInt8, [UInt8])])
  func empty(type: UInt8, content: [UInt8]) {
    let most = Int(TLSRecords.emptyRecordsMax)
    let forger = Forger()
    for _ in 0..<most { forger.seal(type, content, padding: 5) }
    #expect(forger.seal(23, [1]).deliver().plain == [1])
    for _ in 0...most { forger.seal(type, content) }
    let result = forger.deliver()
    #expect(result.last == .failed(.emptyRecords) && result.alert == 10)
  }
}
