/// One revision of the schema: a file `YYYYMMDD_name.sql` whose head names its parent and whose
/// part after the line `-- down` takes it back.
///
///     -- Sessions: one row for each conversation.     what it does
///     -- parent: 20260119_create_tenants              `none` for the first
///     -- loses: all session data                      what its way back destroys
///     -- was: 60c1f3dd3a87e2b1                        checksums of earlier texts with this result
///     -- step: the constraints are checked            here a transaction ends and one begins
///     -- batches: messages into their sessions        a long move of data, see `Step`
public struct Migration: Sendable, Equatable {
  /// What runs as one transaction. A migration has one step unless its file says otherwise; all but
  /// the last may have run before the migration was interrupted, so each can be run again.
  public struct Step: Sendable, Equatable {
    public var title: String
    /// Two statements: how many rows there are to move, and one that moves some and answers how
    /// many; it is run, a transaction each time, until it answers 0.
    public var isBatched: Bool
    public var statements: [Statement]

    public init(title: String = "", isBatched: Bool = false, statements: [Statement]) {
      self.title = title
      self.isBatched = isBatched
      self.statements = statements
    }
  }

  public var revision: String
  public var parent: String?
  public var summary: String
  public var loses: String?
  public var steps: [Step]
  public var down: [Statement]
  /// Checksums under which earlier texts of this file were applied, with the same result.
  public var formerChecksums: [String] = []

  public init(
    revision: String, parent: String?, summary: String = "", loses: String? = nil,
    up: [Statement] = [], down: [Statement] = []
  ) {
    self.revision = revision
    self.parent = parent
    self.summary = summary
    self.loses = loses
    self.steps = [Step(statements: up)]
    self.down = down
  }

  public var file: String { revision + ".sql" }

  /// All statements of the way up, in order.
  public var up: [Statement] {
    get { steps.flatMap(\.statements) }
    set { steps = [Step(statements: newValue)] }
  }

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

  func knows(_ checksum: String) -> Bool {
    checksum == self.checksum || formerChecksums.contains(checksum)
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
      down: ScriptReader.statements(
        of: lines[divider...].joined(separator: "\n"), firstLine: divider + 1))
    formerChecksums = header("was")?.split(separator: " ").map { String($0) } ?? []
    steps = Migration.steps(of: Array(lines[..<divider]))
    if let broken = steps.first(where: { $0.isBatched && $0.statements.count != 2 }) {
      throw .badBatches(revision: revision, step: broken.title)
    }
  }

  /// Cuts the way up at the lines `-- step: …` and `-- batches: …`.
  private static func steps(of lines: [Substring]) -> [Step] {
    var steps: [Step] = []
    var title = ""
    var isBatched = false
    var start = 0
    func end(_ index: Int) -> Step {
      Step(
        title: title, isBatched: isBatched,
        statements: ScriptReader.statements(
          of: lines[start..<index].joined(separator: "\n"), firstLine: start + 1))
    }
    for (index, line) in lines.enumerated() {
      guard line.hasPrefix("-- step: ") || line.hasPrefix("-- batches: ") else { continue }
      steps.append(end(index))
      isBatched = line.hasPrefix("-- batches: ")
      title = String(line.drop { $0 != ":" }.dropFirst(2))
      start = index + 1
    }
    return steps + [end(lines.count)]
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
