import Primitives

/// Checks whether the first bytes of a connection contain a whole ClientHello (RFC 8446 §4.1.2,
/// §5.1). OpenSSL's object, which takes 46 KiB, is only created then: a peer that sends five bytes
/// and waits costs only a socket.
///
/// Pure and stateless: each check starts with the first byte, which stays in the kernel's buffer.
/// Invariant: OpenSSL can answer or refuse bytes that are `whole`, and never waits for the rest of
/// a hello.
public enum TLSHello: Equatable, Sendable {
  /// The bytes may be the start of a hello.
  case incomplete
  case whole
  /// The bytes are no hello. The alert is for the peer, if it speaks TLS.
  case broken(TLSFault, alert: UInt8?)

  /// Bytes of the message after its header. Browsers send 0.3 to 2 KiB, mostly a key share and a
  /// ticket.
  public static let messageBytesMax = 16_384
  /// Bytes to check: the message in records of almost any size.
  public static let byteCountMax = messageBytesMax + 2_048

  private static let messageHeaderBytes = 4
  private static let clientHello: UInt8 = 1

  public init(_ bytes: RawSpan) {
    var record = 0
    // Of the message: bytes seen, and the known part of its header.
    var taken = 0
    var header: UInt32 = 0
    while true {
      let available = bytes.byteCount - record
      guard available >= TLSRecords.headerBytes else {
        self = TLSHello.end(bytes)
        return
      }
      if let fault = TLSHello.check(bytes, at: record) {
        self = fault
        return
      }
      let count = Int(bytes.byte(at: record + 3)) << 8 | Int(bytes.byte(at: record + 4))
      let body = record + TLSRecords.headerBytes
      let end = body + count
      var place = body
      while taken < TLSHello.messageHeaderBytes, place < min(end, bytes.byteCount) {
        header = header << 8 | UInt32(bytes.byte(at: place))
        taken += 1
        place += 1
        if taken == 1, header != UInt32(TLSHello.clientHello) {
          self = .broken(.unexpectedMessage, alert: TLSRecords.Alert.unexpectedMessage.rawValue)
          return
        }
      }
      let messageCount = Int(header & 0xFF_FFFF)
      if taken == TLSHello.messageHeaderBytes, messageCount > TLSHello.messageBytesMax {
        self = .broken(.malformed, alert: TLSRecords.Alert.illegalParameter.rawValue)
        return
      }
      guard end <= bytes.byteCount else {
        self = TLSHello.end(bytes)
        return
      }
      taken += end - place
      // OpenSSL reads whole records, so the message's last record must be complete.
      if taken >= TLSHello.messageHeaderBytes + messageCount, taken >= TLSHello.messageHeaderBytes {
        self = .whole
        return
      }
      record = end
    }
  }

  /// The bytes end before the hello.
  private static func end(_ bytes: RawSpan) -> TLSHello {
    bytes.byteCount < byteCountMax
      ? .incomplete : .broken(.malformed, alert: TLSRecords.Alert.decodeError.rawValue)
  }

  /// Checks a record's header: a handshake, TLS by the first byte of its version, not empty (§5.1)
  /// and not too long.
  private static func check(_ bytes: RawSpan, at record: Int) -> TLSHello? {
    let type = bytes.byte(at: record)
    guard bytes.byte(at: record + 1) == 3, (20...23).contains(type) else {
      return .broken(record == 0 && isHTTP(bytes) ? .plainHTTP : .notTLS, alert: nil)
    }
    guard type == TLSRecords.Content.handshake else {
      return .broken(.unexpectedMessage, alert: TLSRecords.Alert.unexpectedMessage.rawValue)
    }
    let count = Int(bytes.byte(at: record + 3)) << 8 | Int(bytes.byte(at: record + 4))
    guard count <= TLSRecords.contentBytesMax else {
      return .broken(.recordTooLong, alert: TLSRecords.Alert.recordOverflow.rawValue)
    }
    guard count > 0 else {
      return .broken(.unexpectedMessage, alert: TLSRecords.Alert.unexpectedMessage.rawValue)
    }
    return nil
  }

  /// The first four characters of a method, including its space (RFC 9110 §9.3).
  private static func isHTTP(_ bytes: RawSpan) -> Bool {
    let word = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes.byte(at: $1)) }
    switch word {
    // "GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "CONN", "TRAC"
    case 0x4745_5420, 0x4845_4144, 0x504F_5354, 0x5055_5420, 0x4445_4C45, 0x4F50_5449,
      0x5041_5443, 0x434F_4E4E, 0x5452_4143:
      return true
    default: return false
    }
  }

  /// The unencrypted record of an alert (§6).
  public static func record(alert: UInt8) -> [UInt8] {
    [TLSRecords.Content.alert, 3, 3, 0, 2, 2, alert]
  }
}
