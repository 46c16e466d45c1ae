/// One revision of the schema: a file `YYYYMMDD_name.sql`. Its leading comment names its parent;
/// the part after the line `-- down` reverts it.
///
///     -- Sessions: one row for each conversation.     summary
///     -- parent: 20260119_create_tenants              `none` for the first
///     -- loses: all session data                      the data that reverting destroys
///     -- compatible: 20260101_name                    see `compatible`
///     -- contract: what older gateways read           see `isContract`
///     -- was: 60c1f3dd3a87e2b1                        checksums of earlier texts with this result
///     -- step: the constraints are checked            ends the transaction and begins the next
///     -- locks: chats, workspaces IN … MODE          of the step, or of `down`: see `TableLocks`
///     -- batches: messages into their sessions        begins a data move in batches, see `Step`
public struct Migration: Sendable, Equatable {
  /// The part of a migration that runs as one transaction. A migration without `-- step` lines has
  /// one step. Steps are idempotent: after an interruption all of them run again.
  public struct Step: Sendable, Equatable {
    public var title: String
    /// A data move of two statements. The first returns the number of rows to move. The second
    /// moves some and returns their number; it runs, each time in its own transaction, until it
    /// returns 0.
    public var isBatched: Bool
    public var statements: [Statement]
    public var locks: TableLocks

    public init(
      title: String = "", isBatched: Bool = false, statements: [Statement],
      locks: TableLocks = TableLocks()
    ) {
      self.title = title
      self.isBatched = isBatched
      self.statements = statements
      self.locks = locks
    }
  }

  public var revision: String
  public var parent: String?
  public var summary: String
  public var loses: String?
  /// The last migration of the oldest release whose gateways can run on this schema. Nil: none but
  /// those that know this migration.
  public var compatible: String?
  /// It takes away what only gateways of older releases need, so that it waits for
  /// `chirrup migrate finish`.
  public var isContract = false
  public var steps: [Step]
  public var down: [Statement]
  public var downLocks = TableLocks()
  /// The checksums of earlier texts of this file that led to the same schema.
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

  /// All statements that apply the migration, in order.
  public var up: [Statement] {
    get { steps.flatMap(\.statements) }
    set { steps = [Step(statements: newValue)] }
  }

  /// Detects that a file was changed after it had been applied; comments between statements do not
  /// count. FNV-1a, 64 bits, 16 hexadecimal digits: it detects mistakes, not attacks.
  public var checksum: String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for statement in up + down {
      for byte in statement.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      hash = (hash ^ 0x3B) &* 0x100_0000_01B3
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The tables that its statements create unless they exist. No regular expression: it
  /// would be compiled anew for each statement, whenever the migrator asks.
  var createdTables: [String] {
    up.compactMap { statement in
      Migration.creations.first { statement.text.hasPrefix($0) }.map { creation in
        String(
          statement.text.dropFirst(creation.count).prefix { ("a"..."z").contains($0) || $0 == "_" })
      }
    }
  }

  private static let creations = [
    "CREATE TABLE IF NOT EXISTS ", "CREATE UNLOGGED TABLE IF NOT EXISTS ",
  ]

  /// The indexes that its statements create unless they exist, without those for which an index of
  /// the owner's gives up its name.
  var createdIndexes: [String] {
    let text = up.map(\.text).joined(separator: "\n")
    let yielded = Set(
      text.matches(of: /chirrup_yield\('[a-z_]+', '([a-z_]+)'/).map { String($0.1) })
    return text.matches(of: /INDEX IF NOT EXISTS ([a-z_]+)/).map { String($0.1) }
      .filter { !yielded.contains($0) }
  }

  func matches(_ checksum: String) -> Bool {
    checksum == self.checksum || formerChecksums.contains(checksum)
  }

  /// Parses the text of a file.
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
    downLocks = TableLocks(in: lines[divider...])
    formerChecksums = header("was")?.split(separator: " ").map { String($0) } ?? []
    compatible = header("compatible")
    isContract = header("contract") != nil
    steps = Migration.steps(of: Array(lines[..<divider]))
    if let broken = steps.first(where: { $0.isBatched && $0.statements.count != 2 }) {
      throw .badBatches(revision: revision, step: broken.title)
    }
  }

  /// Splits the part before `-- down` at the lines `-- step: …` and `-- batches: …`.
  private static func steps(of lines: [Substring]) -> [Step] {
    var steps: [Step] = []
    var title = ""
    var isBatched = false
    var start = 0
    func end(_ index: Int) -> Step {
      Step(
        title: title, isBatched: isBatched,
        statements: ScriptReader.statements(
          of: lines[start..<index].joined(separator: "\n"), firstLine: start + 1),
        locks: TableLocks(in: lines[start..<index]))
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

  /// Eight digits, `_`, then lower-case letters, digits and `_`.
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
