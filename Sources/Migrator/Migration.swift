/// One step of the schema: a file `YYYYMMDD_name.sql` whose head names its parent and whose part
/// after the line `-- down` takes it back.
///
/// -- Sessions: one row for each conversation.        what it does -- parent:
/// 20260119_create_tenants                 `none` for the first -- loses: all session data
/// what its way back destroys
public struct Migration: Sendable, Equatable {
  public var revision: String
  public var parent: String?
  public var summary: String
  public var loses: String?
  public var up: [Statement]
  public var down: [Statement]

  public init(
    revision: String, parent: String?, summary: String = "", loses: String? = nil,
    up: [Statement] = [], down: [Statement] = []
  ) {
    self.revision = revision
    self.parent = parent
    self.summary = summary
    self.loses = loses
    self.up = up
    self.down = down
  }

  public var file: String { revision + ".sql" }

  /// Tells whether a file was changed after it had been applied; comments between statements do not
  /// count. FNV-1a of 64 bits: it guards against mistakes, not against an attacker.
  public var checksum: String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for statement in up + down {
      for byte in statement.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      hash = (hash ^ 0x3B) &* 0x100_0000_01B3
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Reads a file.
  public init(revision: String, text: String) throws(ChainFault) {
    guard Migration.isRevision(revision) else { throw .badName(revision: revision) }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let head = lines.prefix { $0.hasPrefix("--") }
    func header(_ key: String) -> String? {
      let prefix = "-- \(key): "
      return head.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
    guard let parent = header("parent") else { throw .noParentLine(revision: revision) }
    guard let divider = lines.firstIndex(where: { $0 == "-- down" }) else {
      throw .noDownSection(revision: revision)
    }
    self.init(
      revision: revision, parent: parent == "none" ? nil : parent,
      summary: head.first.map { String($0.dropFirst(3)) } ?? "", loses: header("loses"),
      up: ScriptReader.statements(of: lines[..<divider].joined(separator: "\n")),
      down: ScriptReader.statements(
        of: lines[divider...].joined(separator: "\n"), firstLine: divider + 1))
  }

  /// Eight digits, `_`, then small letters, digits and `_`.
  private static func isRevision(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard bytes.count > 9, bytes[8] == UInt8(ascii: "_") else { return false }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return bytes[..<8].allSatisfy { digits.contains($0) }
      && bytes[9...].allSatisfy {
        digits.contains($0) || $0 == UInt8(ascii: "_")
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
      }
  }
}
