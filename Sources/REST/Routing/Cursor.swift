/// Cursors of lists: 8 bytes of a checksum and the position of the last row, in base64url.
///
/// The checksum covers the list with its filters and the workspace, so that a cursor of another
/// list is refused like a damaged one. It is not a signature: a position reveals nothing, and the
/// statement of every page names the workspace.
import OpenSSL
import Primitives

enum Cursor {
  private static let checksumBytes = 8
  /// The last microsecond of the year 9999. PostgreSQL refuses times far behind it, which a forged
  /// cursor could contain.
  private static let microsecondsMax: Int64 = 253_402_300_799_999_999

  /// - Parameter list: the name of the list and its filters.
  static func encode(_ position: [UInt8], list: [UInt8], workspace: Identifier) -> String {
    Base64.url.encode(checksum(position, list, workspace) + position)
  }

  /// The position in a cursor of this list; nil if it is damaged or of another list.
  static func decode(
    _ cursor: String, bytesMax: Int, list: [UInt8], workspace: Identifier
  ) -> [UInt8]? {
    guard cursor.utf8.count <= bytesMax, let bytes = Base64.url.decode(cursor.utf8),
      bytes.count > checksumBytes
    else { return nil }
    let position = Array(bytes[checksumBytes...])
    let isSound = checksum(position, list, workspace) == Array(bytes[..<checksumBytes])
    return isSound ? position : nil
  }

  /// A time in a cursor; nil outside the years 1970 to 9999.
  static func time(microseconds: Int64) -> WallTime? {
    (0...microsecondsMax).contains(microseconds) ? WallTime(microseconds: microseconds) : nil
  }

  private static func checksum(
    _ position: [UInt8], _ list: [UInt8], _ workspace: Identifier
  ) -> [UInt8] {
    var bytes = position
    workspace.appendBytes(to: &bytes)
    bytes += list
    return Array(SHA256.digest(bytes)[..<checksumBytes])
  }
}

extension Problem {
  static let foreignCursor = Problem.invalid(
    "The parameter “cursor” is not a cursor of this list with these filters. Start again without "
      + "it.")
}
