import Primitives

/// A client's request id (`ref`), kept as the JSON token that was received: a string of at most 32
/// bytes or an integer. Stored inline, without an allocation.
public struct Reference: Sendable, Equatable {
  /// Two quotes and 32 bytes.
  public static let byteCountMax = 34

  private var bytes: InlineArray<34, UInt8>
  private var length: UInt8

  public static let none = Reference()

  public init() {
    bytes = InlineArray(repeating: 0)
    length = 0
  }

  /// Nil when the token is longer than `byteCountMax`.
  public init?(token: RawSpan) {
    guard token.byteCount <= Reference.byteCountMax else { return nil }
    self.init()
    for offset in 0..<token.byteCount { bytes[offset] = token.byte(at: offset) }
    length = UInt8(token.byteCount)
  }

  public var isEmpty: Bool { length == 0 }

  /// Appends the JSON token.
  public func append(to output: inout [UInt8]) {
    for offset in 0..<Int(length) { output.append(bytes[offset]) }
  }

  func append(to text: inout ShortText) {
    // SAFETY: UInt8 has no padding, and the span does not outlive this statement.
    unsafe text.append(bytes.span.bytes.extracting(0..<Int(length)))
  }

  public static func == (left: Reference, right: Reference) -> Bool {
    guard left.length == right.length else { return false }
    for offset in 0..<Int(left.length) where left.bytes[offset] != right.bytes[offset] {
      return false
    }
    return true
  }
}
