/// Imports one account of a Chatwoot database into a workspace: members, labels, canned responses,
/// contacts, conversations, messages and ratings.
///
/// Every id is derived from the account and the old id (`DerivedIdentifiers`), so another run adds
/// only what is new, at the end of each conversation, and one that was interrupted is continued by
/// the next. Each page is one transaction, with the locks that gateways use, so they may run
/// meanwhile. Chatwoot's database is read in one snapshot and not changed.
import Directory
import JSON
public import Migrator
public import Postgres
public import Primitives

public struct ChatwootImport {
  /// Rows that are imported, or that would be.
  public struct Summary: Sendable, Equatable {
    public var members: Int64 = 0
    public var tags: Int64 = 0
    public var cannedReplies: Int64 = 0
    public var visitors: Int64 = 0
    public var conversations: Int64 = 0
    public var messages: Int64 = 0
    public var ratings: Int64 = 0

    public init() {}
  }

  public enum Refusal: Error, Equatable, CustomStringConvertible {
    case noAccount(Int64)
    case missingColumns(String)

    public var description: String {
      switch self {
      case .noAccount(let id): "the Chatwoot database has no account \(id)"
      case .missingColumns(let names):
        "the source is not a Chatwoot database of version 2 or later: it has no \(names)"
      }
    }
  }

  /// Conversations of one page, at most.
  public static let batchMax = 1_000

  let storedData: StoredData
  let workspace: Identifier
  let source: ChatwootSource
  let ids: DerivedIdentifiers
  /// Conversations of one page.
  let batch: Int
  /// Whether anything is stored.
  let isRun: Bool
  private let totalMessages: Int64
  /// Erased visitors.
  let erased: Set<Identifier>

  public private(set) var summary = Summary()
  public internal(set) var findings = ImportFindings()
  /// The members of the account, by their number in Chatwoot.
  var members: [Int64: (id: Identifier, name: String)] = [:]

  /// Begins to read a snapshot of the account.
  ///
  /// - Parameters:
  ///   - since: leaves out conversations without an activity since then; nil: none.
  ///   - isRun: false only counts, and changes nothing.
  public init(
    _ storedData: StoredData, workspace: Identifier, from source: BlockingConnection,
    account: Int64, since: WallTime? = nil, batch: Int = 200, isRun: Bool
  ) throws {
    precondition((1...Self.batchMax).contains(batch), "a page has 1 to \(Self.batchMax) rows")
    self.storedData = storedData
    self.workspace = workspace
    self.batch = batch
    self.isRun = isRun
    self.source = try ChatwootSource(source, account: account, since: since)
    let counts = try self.source.counts()
    guard !counts.isEmpty else { throw Refusal.noAccount(account) }
    // The time of its creation tells the accounts of two installations apart.
    ids = DerivedIdentifiers(space: "chatwoot:\(workspace):\(account):\(counts.int(0, 0) ?? 0)")
    totalMessages = counts.int(0, 3) ?? 0
    let gone = try storedData.connection.run(Query(ChatwootStore.erased, [.uuid(workspace)]))
    erased = Set((0..<gone.count).compactMap { gone.uuid($0, 0) })
    // Imported messages must not trigger webhooks.
    if isRun { try storedData.connection.execute(script: "SET chirrup.webhooks = 'off'") }
  }

  /// Imports what is missing, or counts it.
  ///
  /// - Parameter report: called after each page of messages; an error ends the run.
  public mutating func run(report: (MoveProgress) throws -> Void = { _ in }) throws -> Summary {
    try importMembers()
    try importTags()
    try importReplies()
    try importContacts()
    var progress = MoveProgress(title: "Chatwoot messages", rowsTotal: totalMessages)
    let clock = ContinuousClock()
    let start = clock.now
    var last: Int64 = 0
    while true {
      let rows = try source.conversations(after: last, limit: batch)
      guard !rows.isEmpty else { break }
      let first = last
      last = rows.int(rows.count - 1, 0) ?? Int64.max
      let before = summary
      let page = try importConversations(rows)
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
        "chatwoot.imported", workspace: workspace, target: nil,
        details: [
          ("account", source.account), ("members", summary.members), ("tags", summary.tags),
          ("canned_replies", summary.cannedReplies), ("visitors", summary.visitors),
          ("conversations", summary.conversations), ("messages", summary.messages),
          ("ratings", summary.ratings),
        ])
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
  var text: [UInt8] { bytes + Array("]".utf8) }

  mutating func append(_ members: (inout [UInt8]) -> Void) {
    bytes.appendComma()
    bytes.append(UInt8(ascii: "{"))
    members(&bytes)
    bytes.append(UInt8(ascii: "}"))
  }
}
