import Synchronization

/// The text of a statement, or a fragment of one.
///
/// A text consists of literals of the source and of other such texts. Values travel as parameters:
/// interpolating a `String` or a number does not compile. Equal composed texts are one object, so
/// that a connection prepares each of them once.
///
///     static let page: SQL = "SELECT … WHERE \(condition) LIMIT $1::bigint"
public struct SQL: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
  fileprivate enum Text: Sendable {
    case literal(StaticString)
    case composed(Composed)
  }

  fileprivate final class Composed: Sendable {
    let text: String
    init(_ text: String) { self.text = text }
  }

  /// Every composed text of the process; they are constants of the source, so their number is
  /// bounded, and none is removed.
  private static let composed = Mutex<[String: Composed]>([:])

  fileprivate let text: Text

  public init(_ text: StaticString) { self.text = .literal(text) }

  public init(stringLiteral text: StaticString) { self.init(text) }

  public init(stringInterpolation parts: StringInterpolation) {
    text = .composed(
      SQL.composed.withLock { known in
        if let same = known[parts.text] { return same }
        let new = Composed(parts.text)
        known[parts.text] = new
        return new
      })
  }

  public var description: String {
    switch text {
    case .literal(let text): text.description
    case .composed(let composed): composed.text
    }
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 64 * interpolationCount)
    }

    public mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

    public mutating func appendInterpolation(_ fragment: SQL) { text += fragment.description }
  }
}

extension SQL {
  /// Identifies the text within the process.
  var address: UInt {
    switch text {
    // SAFETY: the address is only compared, never read.
    case .literal(let text): unsafe UInt(bitPattern: text.utf8Start)
    case .composed(let composed): UInt(bitPattern: ObjectIdentifier(composed))
    }
  }

  func withCText<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    switch text {
    case .literal(let text): unsafe text.withCText(body)
    // SAFETY: the text ends with NUL and lives for the call.
    case .composed(let composed): unsafe composed.text.withCString(body)
    }
  }
}
