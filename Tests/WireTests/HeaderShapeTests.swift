/// Every shape of a frame header at the edges of its length: nothing overflows or traps, and
/// nothing is allocated for a size that is only declared (RFC 6455 §5.2).
import Foundation
import Primitives
import Testing
import Wire

@Suite struct HeaderShapeTests {
  /// How the length is written: in 7, 16 or 64 bits, the last with the top bit clear or set.
  enum Form: CaseIterable { case seven, sixteen, sixtyFour, outOfRange }

  struct Shape: CustomTestStringConvertible {
    var form: Form
    var isMasked: Bool
    var isControl: Bool

    var testDescription: String {
      "\(form)\(isMasked ? ", masked" : "")\(isControl ? ", control" : "")"
    }

    /// The boundary lengths that the form can express.
    var edges: [UInt64] {
      let top: UInt64 = 1 << 63
      return switch form {
      case .seven: [0, 1, 124, 125]
      case .sixteen: [0, 1, 125, 126, 127, 255, 256, 65_534, 65_535]
      case .sixtyFour:
        [0, 125, 126, 65_535, 65_536, 65_537, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32]
          + [top - 15, top - 2, top - 1]
      case .outOfRange: [top, top + 1, top + 125, .max - 13, .max - 1, .max]
      }
    }

    func header(_ length: UInt64) -> [UInt8] {
      let mask: UInt8 = isMasked ? 0x80 : 0
      var bytes: [UInt8] = [isControl ? 0x89 : 0x82]
      switch form {
      case .seven: bytes.append(mask | UInt8(length))
      case .sixteen:
        bytes.append(mask | 126)
        bytes.append(bigEndian: UInt16(length))
      case .sixtyFour, .outOfRange:
        bytes.append(mask | 127)
        bytes.append(bigEndian: length)
      }
      return isMasked ? bytes + [1, 2, 3, 4] : bytes
    }

    /// The expected result for the receiver of this role.
    func expected(
      _ length: UInt64, _ role: MessageDecoder.Role, limit: Int
    ) -> [Received] {
      guard isMasked == (role == .server) else {
        return [.fault(role == .server ? .unmasked : .masked)]
      }
      guard !isControl || form == .seven else { return [.fault(.controlTooLong)] }
      if form == .outOfRange { return [.fault(.lengthOutOfRange)] }
      let least: UInt64 = form == .seven ? 0 : form == .sixteen ? 126 : 65_536
      guard length >= least else { return [.fault(.lengthNotMinimal)] }
      if !isControl && length > UInt64(limit) { return [.fault(.messageTooBig)] }
      guard length == 0 else { return [] }
      return [isControl ? .ping([]) : .message(.binary, [])]
    }
  }

  static let shapes = Form.allCases.flatMap { form in
    [true, false].flatMap { isMasked in
      [true, false].map { Shape(form: form, isMasked: isMasked, isControl: $0) }
    }
  }

  @Test("each edge of a length has the same result, whole and in pieces", arguments: shapes)
  func edges(shape: Shape) {
    for length in shape.edges {
      let header = shape.header(length)
      for role in [MessageDecoder.Role.server, .client] {
        for limit in [0, 125, 65_535, 65_536, 1 << 32, Int.max] {
          let limits = MessageLimits(messageBytes: limit, fragments: 2)
          let expected = shape.expected(length, role, limit: limit)
          #expect(receive([header], role: role, limits: limits) == expected)
          let pieces = cut(header, at: Array(1..<header.count))
          #expect(receive(pieces, role: role, limits: limits).prefix(1) == expected.prefix(1))
        }
      }
    }
  }

  @Test("the sum of fragments is checked without an overflow")
  func sums() {
    let limits = MessageLimits(messageBytes: .max, fragments: 4)
    let shape = Shape(form: .sixtyFour, isMasked: true, isControl: false)
    for length in shape.edges where length >= 65_536 {
      var second = shape.header(length)
      second[0] = 0x80
      let fits = length <= UInt64(Int.max - 100)
      let received = receive(
        [rawFrame(0x02, [UInt8](repeating: 7, count: 100)), second], limits: limits)
      #expect(received == (fits ? [] : [.fault(.messageTooBig)]))
    }
  }

  @Test("a declared length allocates nothing: a thousand headers of a gigabyte each")
  func memory() throws {
    let before = try allocated()
    var decoders: [MessageDecoder] = []
    for shape in Self.shapes where !shape.isControl {
      for _ in 0..<100 {
        var decoder = MessageDecoder(
          role: shape.isMasked ? .server : .client,
          limits: MessageLimits(messageBytes: .max, fragments: 2))
        var received: [Received] = []
        feed(&decoder, shape.header(shape.form == .sixtyFour ? 1 << 30 : 125), &received)
        decoders.append(decoder)
      }
    }
    // Other tests run meanwhile; a single gigabyte would show.
    #expect(try allocated() - before < 512 << 20)
    #expect(decoders.count == 800)
  }

  /// Bytes of address space, which include untouched memory.
  private func allocated() throws -> Int {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(
      separator: " ")
    return (Int(pages.first ?? "") ?? 0) * 4096
  }
}
