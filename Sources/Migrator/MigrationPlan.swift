public import Primitives

/// A row of `chirrup_migrations`.
public struct AppliedRevision: Sendable, Equatable {
  public var revision: String
  public var checksum: String
  public var at: WallTime
  public var durationMilliseconds: Int64

  public init(revision: String, checksum: String, at: WallTime, durationMilliseconds: Int64) {
    self.revision = revision
    self.checksum = checksum
    self.at = at
    self.durationMilliseconds = durationMilliseconds
  }
}

/// What the files say against what the database says: decides what runs, and whether it may. Pure.
public struct MigrationPlan: Sendable {
  public enum State: String, Sendable {
    case applied
    case pending
    /// Applied, but the file is another one today.
    case changed
    /// Applied, but in no file: the database is newer than this binary, or of another project.
    case unknown
  }
  public struct Line: Sendable {
    public var revision: String
    public var state: State
    public var applied: AppliedRevision?
    public var summary: String
  }

  public let chain: Chain
  /// Every revision once: the files in their order, then what only the database knows.
  public let lines: [Line]

  public init(chain: Chain, applied: [AppliedRevision]) {
    var rest = applied
    var lines: [Line] = []
    for migration in chain.migrations {
      let row = rest.firstIndex { $0.revision == migration.revision }.map { rest.remove(at: $0) }
      let state: State =
        switch row {
        case nil: .pending
        case let row?: row.checksum == migration.checksum ? .applied : .changed
        }
      lines.append(
        Line(
          revision: migration.revision, state: state, applied: row, summary: migration.summary))
    }
    for row in rest.sorted(by: { $0.revision < $1.revision }) {
      lines.append(Line(revision: row.revision, state: .unknown, applied: row, summary: ""))
    }
    self.chain = chain
    self.lines = lines
  }

  public var unknown: [String] { lines.filter { $0.state == .unknown }.map(\.revision) }
  public var changed: [String] { lines.filter { $0.state == .changed }.map(\.revision) }
  public var isCurrent: Bool { lines.allSatisfy { $0.state == .applied || $0.state == .changed } }

  /// What `up` runs: everything pending, up to and with `target`.
  public func upward(to target: String? = nil) throws(MigrationFailure) -> [Migration] {
    try checkConsistency()
    let end = try index(of: target ?? chain.head)
    return chain.migrations[...end].filter { state(of: $0.revision) == .pending }
  }

  /// What `down` takes back, the newest first: everything applied after `target`; `none` is before
  /// all.
  public func downward(to target: String) throws(MigrationFailure) -> [Migration] {
    try checkConsistency()
    let end = target == "none" ? -1 : try index(of: target)
    return chain.migrations[(end + 1)...].reversed().filter { state(of: $0.revision) != .pending }
  }

  private func state(of revision: String) -> State? {
    lines.first { $0.revision == revision }?.state
  }

  private func index(of revision: String?) throws(MigrationFailure) -> Int {
    guard let revision else { return -1 }
    guard let index = chain.migrations.firstIndex(where: { $0.revision == revision }) else {
      throw .noSuchRevision(revision)
    }
    return index
  }

  /// Nothing may run against a database whose past these files do not explain.
  private func checkConsistency() throws(MigrationFailure) {
    guard unknown.isEmpty else { throw .newerDatabase(unknown: unknown) }
    var firstPending: String?
    for line in lines {
      if line.state == .pending {
        firstPending = firstPending ?? line.revision
      } else if let missing = firstPending {
        throw .gap(applied: line.revision, missing: missing)
      }
    }
  }
}
