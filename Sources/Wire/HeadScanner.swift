import Primitives

/// The bounds on the head of an HTTP message.
public enum HeadLimits {
  /// Bytes from the first line to the empty line, both included.
  public static let headBytes = 16_384
  /// Bytes of a request's target.
  public static let targetBytes = 8_192
  public static let fields = 100
  /// Parameters of a query.
  public static let parameters = 100
}

/// Finds the end of an HTTP/1.1 head (RFC 9112 §2.1) in bytes that arrive in pieces, reading each
/// byte once.
///
/// It refuses bytes that can never become a head, so that the gateway does not wait for the end of
/// a TLS hello or a flood. It reads §2.2 strictly: a line ends with CRLF only, and HTAB is the only
/// control character allowed.
public struct HeadScanner: Equatable, Sendable {
  private var resume: UInt32 = 0
  private var lineStart: UInt32 = 0
  private var hasFirstLine = false
  private var firstLineEnd: UInt32 = 0

  /// The range of the first line without its CRLF, once it is complete.
  public var firstLine: Range<Int>? {
    hasFirstLine ? Int(firstLineStart)..<Int(firstLineEnd) : nil
  }

  private var firstLineStart: UInt32 = 0

  public init() {}

  /// `bytes` is everything received so far, from the same first byte on. The result is the number
  /// of bytes up to and including the empty line, or nil while it has not arrived.
  public mutating func scan(_ bytes: RawSpan) throws(HeadFault) -> Int? {
    let end = min(bytes.byteCount, HeadLimits.headBytes)
    var offset = Int(resume)
    while offset < end {
      offset = nextControl(in: bytes, from: offset, to: end)
      guard offset < end else { break }
      let byte = bytes.byte(at: offset)
      offset += 1
      if byte == UInt8(ascii: "\r") {
        // Checked together with the next byte, which may be in the next segment.
        guard offset < end else {
          offset -= 1
          break
        }
        guard bytes.byte(at: offset) == UInt8(ascii: "\n") else { throw .controlCharacter }
        offset += 1
        let isEmptyLine = offset - 2 == Int(lineStart)
        if !isEmptyLine, !hasFirstLine {
          firstLineStart = lineStart
          firstLineEnd = UInt32(offset - 2)
        }
        lineStart = UInt32(offset)
        if !isEmptyLine {
          hasFirstLine = true
        } else if hasFirstLine {
          return offset
        } else if offset > 2 {
          // §2.2: one empty line before the request line is ignored, for the sake of old clients.
          throw .requestLineInvalid
        }
        continue
      }
      throw .controlCharacter
    }
    resume = UInt32(offset)
    guard bytes.byteCount < HeadLimits.headBytes else {
      throw hasFirstLine ? .headTooLong : .targetTooLong
    }
    return nil
  }
}

/// The offset of the next control character other than HTAB: below 0x20, or 0x7F.
func nextControl(in bytes: RawSpan, from start: Int, to end: Int) -> Int {
  let ones: UInt64 = 0x0101_0101_0101_0101
  var offset = start
  while offset < end {
    if offset + 8 <= end {
      // Eight bytes at a time. The lowest marked byte is always a match, because a borrow only
      // affects higher bytes.
      let word = UInt64(littleEndian: bytes.word(at: offset))
      let deleted = word ^ ones &* 0x7F
      let found = (word &- ones &* 0x20) & ~word | (deleted &- ones) & ~deleted
      let marks = found & 0x8080_8080_8080_8080
      guard marks != 0 else {
        offset += 8
        continue
      }
      offset += marks.trailingZeroBitCount / 8
    }
    let byte = bytes.byte(at: offset)
    if byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F { return offset }
    offset += 1
  }
  return end
}
