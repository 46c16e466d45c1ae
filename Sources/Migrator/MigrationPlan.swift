public import Primitives

/// A row of `chirrup_migrations`.
public struct AppliedRevision: Sendable, Equatable {
  public var revision: String
  public var checksum: String
  public var at: WallTime
  public var durationMilliseconds: Int64
  /// The revision before it; nil for the first, and for rows of older versions of Chirrup, which
  /// did not record it.
  public var parent: String?
  /// See `Migration.compatible`.
  public var compatible: String?

  public init(
    revision: String, checksum: String, at: WallTime, durationMilliseconds: Int64,
    parent: String? = nil, compatible: String? = nil
  ) {
    self.revision = revision
    self.checksum = checksum
    self.at = at
    self.durationMilliseconds = durationMilliseconds
    self.parent = parent
    self.compatible = compatible
  }
}

/// Compares the files with the record of the database: decides which migrations run, and whether
/// they may. Pure.
public struct MigrationPlan: Sendable {
  public enum RevisionState: String, Sendable {
    case applied
    case pending
    /// Some of its steps ran, the last one did not. `up` completes it, `down` reverts it.
    case begun
    /// Applied, but the file was changed afterwards.
    case changed
    /// Applied, but without a file: by a newer binary or by another project.
    case unknown
    /// A contract that `finish` applies, when no gateway needs what it takes away.
    case unfinished
  }
  public struct Line: Sendable {
    public var revision: String
    public var state: RevisionState
    public var applied: AppliedRevision?
    public var summary: String

    public var isPending: Bool { state == .pending || state == .begun }
  }

  public let chain: Chain
  /// Each revision once: those of the files in their order, then the unknown ones.
  public private(set) var lines: [Line]

  /// - Parameter begun: the revisions of which some steps ran.
  public init(chain: Chain, applied: [AppliedRevision], begun: Set<String> = []) {
    var rest = applied
    var lines: [Line] = []
    for migration in chain.migrations {
      let row = rest.firstIndex { $0.revision == migration.revision }.map { rest.remove(at: $0) }
      let state: RevisionState =
        switch row {
        case nil: begun.contains(migration.revision) ? .begun : .pending
        case let row?: migration.matches(row.checksum) ? .applied : .changed
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
    markUnfinished()
  }

  /// The contracts at the end of the chain wait for `finish`, except on a new database, where no
  /// older gateway can run. A contract before another migration belongs to an earlier release, and
  /// `up` applies it.
  private mutating func markUnfinished() {
    guard !isUntouched else { return }
    for index in chain.migrations.indices.reversed() {
      guard chain.migrations[index].isContract else { return }
      if lines[index].state == .pending { lines[index].state = .unfinished }
    }
  }

  public var unknown: [String] { lines.filter { $0.state == .unknown }.map(\.revision) }
  public var changed: [String] { lines.filter { $0.state == .changed }.map(\.revision) }
  /// The revisions that are not, or not completely, applied.
  public var pending: [String] { lines.filter(\.isPending).map(\.revision) }
  /// Whether the database has no migration of Chirrup, not even a part of one.
  public var isUntouched: Bool { lines.allSatisfy { $0.state == .pending } }
  public var isCurrent: Bool {
    lines.allSatisfy { [.applied, .changed, .unfinished].contains($0.state) }
  }
  /// The revisions that only `finish` applies.
  public var unfinished: [String] { lines.filter { $0.state == .unfinished }.map(\.revision) }
  /// The migrations whose result the schema of a current database equals.
  var expected: [Migration] {
    chain.migrations.filter { state(of: $0.revision) != .unfinished }
  }

  /// Unknown revisions that descend from known ones: a newer binary applied them. Without a
  /// recorded parent, the date in the name decides.
  public var newer: [String] {
    var known = Set(chain.migrations.map(\.revision))
    var newer: [String] = []
    var rest = lines.filter { $0.state == .unknown }.compactMap(\.applied)
    while let index = rest.firstIndex(where: { follows($0, known) }) {
      let row = rest.remove(at: index)
      known.insert(row.revision)
      newer.append(row.revision)
    }
    return newer.sorted()
  }

  private func follows(_ row: AppliedRevision, _ known: Set<String>) -> Bool {
    if let parent = row.parent { return known.contains(parent) }
    return row.revision.prefix(8) > (chain.migrations.map { $0.revision.prefix(8) }.max() ?? "")
  }

  /// Unknown revisions that descend from no known one.
  public var strays: [String] {
    let newer = self.newer
    return unknown.filter { !newer.contains($0) }
  }

  /// The migrations that `up` applies: the pending ones up to and including `target`.
  ///
  /// - Parameter finishing: also the contracts at the end, as `finish` does.
  public func upward(
    to target: String? = nil, finishing: Bool = false
  ) throws(MigrationFailure) -> [Migration] {
    try checkConsistency()
    guard let target = target ?? chain.head else { return [] }
    let wanted = Set(pending + (finishing ? unfinished : []))
    return try chain.upTo(target).filter { wanted.contains($0.revision) }
  }

  /// The migrations that `down` reverts, newest first: the applied and begun ones after `target`,
  /// or all for `none`.
  public func downward(to target: String) throws(MigrationFailure) -> [Migration] {
    try checkConsistency()
    let kept = target == "none" ? 0 : try chain.upTo(target).count
    return chain.migrations[kept...].reversed().filter {
      ![.pending, .unfinished].contains(state(of: $0.revision))
    }
  }

  func state(of revision: String) -> RevisionState? {
    lines.first { $0.revision == revision }?.state
  }

  /// Throws unless the files explain every recorded revision: nothing may run otherwise.
  func checkConsistency() throws(MigrationFailure) {
    let newer = self.newer
    guard newer.isEmpty else { throw .newerDatabase(unknown: newer) }
    guard unknown.isEmpty else { throw .strayRevisions(unknown) }
    var firstPending: String?
    for line in lines {
      if line.isPending {
        firstPending = firstPending ?? line.revision
      } else if line.state != .unfinished, let missing = firstPending {
        throw .gap(applied: line.revision, missing: missing)
      }
    }
  }
}
