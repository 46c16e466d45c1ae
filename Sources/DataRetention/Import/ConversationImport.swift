/// Imports another system's members, teams, tags, canned replies, contacts, conversations, messages
/// and ratings into a workspace.
///
/// Every id is derived from the source and the old id (`DerivedIdentifiers`), so another run adds
/// only what is new, at the end of each conversation, and one that was interrupted is continued by
/// the next. Each page is one transaction, with the locks that gateways use, so they may run
/// meanwhile.
import Directory
import JSON
public import Migrator
import Postgres
public import Primitives

public struct ConversationImport {
  /// Rows that are imported, or that would be.
  public struct Summary: Sendable, Equatable {
    public var members: Int64 = 0
    public var teams: Int64 = 0
    public var tags: Int64 = 0
    public var cannedReplies: Int64 = 0
    public var visitors: Int64 = 0
    public var conversations: Int64 = 0
    public var messages: Int64 = 0
    public var ratings: Int64 = 0

    public init() {}

    /// With the names that the audit log and `--json` have.
    public var counts: [(String, Int64)] {
      [
        ("members", members), ("teams", teams), ("tags", tags), ("canned_replies", cannedReplies),
        ("visitors", visitors), ("conversations", conversations), ("messages", messages),
        ("ratings", ratings),
      ]
    }
  }

  /// Conversations of one page, at most.
  public static let batchMax = 1_000

  let storedData: StoredData
  let workspace: Identifier
  let source: any ImportSource
  let ids: DerivedIdentifiers
  /// Conversations of one page.
  let batch: Int
  /// Whether anything is stored.
  let isRun: Bool
  /// Erased visitors.
  let erased: Set<Identifier>

  public private(set) var summary = Summary()
  public internal(set) var findings = ImportFindings()
  /// The members and teams, by the source's key.
  var members: [String: (id: Identifier, name: String)] = [:]
  var teams: [String: Identifier] = [:]

  /// - Parameter isRun: false only counts, and changes nothing.
  init(
    _ storedData: StoredData, workspace: Identifier, from source: any ImportSource, batch: Int,
    isRun: Bool
  ) throws {
    precondition((1...Self.batchMax).contains(batch), "a page has 1 to \(Self.batchMax) rows")
    self.storedData = storedData
    self.workspace = workspace
    self.batch = batch
    self.isRun = isRun
    self.source = source
    ids = DerivedIdentifiers(space: source.system.space)
    let gone = try storedData.connection.run(Query(ImportStore.erased, [.uuid(workspace)]))
    erased = Set((0..<gone.count).compactMap { gone.uuid($0, 0) })
    // Imported messages must not trigger webhooks.
    if isRun { try storedData.connection.execute(script: "SET chirrup.webhooks = 'off'") }
  }

  /// Imports what is missing, or counts it.
  ///
  /// - Parameter report: called after each page of messages; an error ends the run.
  public mutating func run(report: (MoveProgress) throws -> Void = { _ in }) throws -> Summary {
    try importMembers()
    try importTeams()
    try importTags()
    try importReplies()
    try importContacts()
    var progress = MoveProgress(
      title: "\(source.system.name) messages", rowsTotal: source.messageCount)
    let clock = ContinuousClock()
    let start = clock.now
    var last: Int64 = 0
    while true {
      let conversations = try source.conversations(after: last, limit: batch)
      guard let end = conversations.last else { break }
      let first = last
      last = end.place
      let before = summary
      let page = try importConversations(conversations)
      try source.messages(after: first, upTo: last) { messages in
        try importMessages(messages, of: page)
        progress.rowsDone += Int64(messages.count)
        progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
        try report(progress)
      }
      try finish(page)
      if isRun, summary != before { try announce(page) }
    }
    if isRun, summary != Summary() { try conclude() }
    return summary
  }

  private func conclude() throws {
    try storedData.connection.transaction { _ in
      try storedData.audit(
        "\(source.system.word).imported", workspace: workspace, target: nil,
        details: source.system.details + summary.counts)
      try storedData.announceChanges()
    }
    // One recount is faster than the gateway, which counts conversation by conversation.
    _ = try storedData.ask(Analytics.recompute(workspace))
  }

  /// Runs a statement whose second parameter is an array of rows; without rows, it is not run.
  @discardableResult
  func store(
    _ sql: SQL, _ rows: JSONRows, _ more: [Parameter] = []
  ) throws(QueryFailure) -> Rows? {
    guard !rows.isEmpty else { return nil }
    return try storedData.connection.run(
      Query(sql, [.uuid(workspace), .json(rows.text)] + more))
  }

  mutating func add(_ number: Int64, to counted: WritableKeyPath<Summary, Int64>) {
    summary[keyPath: counted] += number
  }
}

extension StoredData {
  /// The beginning of a day in UTC, given as `2026-01-31`; nil for another text.
  public func beginning(ofDay text: String) -> WallTime? {
    let digits = text.split(separator: "-", omittingEmptySubsequences: false)
    guard digits.map(\.count) == [4, 2, 2], digits.joined().allSatisfy(\.isNumber) else {
      return nil
    }
    // Refused: a day that the month does not have.
    let query = Query("SELECT $1::text::date::timestamp AT TIME ZONE 'UTC'", [.text(text)])
    return try? connection.run(query).time(0, 0)
  }
}

/// A JSON array of objects, for a parameter of a statement.
struct JSONRows {
  private var bytes = Array("[".utf8)

  var isEmpty: Bool { bytes.count == 1 }
  var byteCount: Int { bytes.count }
  var text: [UInt8] { bytes + Array("]".utf8) }

  mutating func append(_ members: (inout [UInt8]) -> Void) {
    bytes.appendComma()
    bytes.append(UInt8(ascii: "{"))
    members(&bytes)
    bytes.append(UInt8(ascii: "}"))
  }
}
