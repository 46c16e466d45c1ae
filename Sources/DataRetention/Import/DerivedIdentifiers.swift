/// Ids of imported rows. The same row of the same source gets the same id in each run, so that a
/// run adds only what is missing. An id is a UUID of version 8 (RFC 9562 §5.8): the first 122 free
/// bits of a SHA-256 of the name space and the row.
import OpenSSL
public import Primitives

public struct DerivedIdentifiers: Sendable {
  private let space: [UInt8]

  /// - Parameter space: names the workspace and the source.
  public init(space: String) { self.space = Array(space.utf8) + [0] }

  /// - Parameter part: the number of an entry that a long row is divided into, from 0.
  public func id(_ table: StaticString, _ row: String, part: Int = 0) -> Identifier {
    let hash = SHA256.digest(space + Array("\(table):\(row):\(part)".utf8))
    func word(_ first: Int) -> UInt64 {
      hash[first..<first + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    return Identifier(
      high: word(0) & ~0xF000 | 0x8000, low: word(8) & ~(0b11 << 62) | 0b10 << 62)
  }
}
