/// An error in the migration files themselves. Continuous integration checks for them first.
public enum ChainFault: Error, Sendable, Equatable {
  case badName(revision: String)
  case noParentLine(revision: String)
  case noDownSection(revision: String)
  /// A step `-- batches` must have two statements, see `Migration.Step.isBatched`.
  case badBatches(revision: String, step: String)
  case duplicate(revision: String)
  /// Its parent is in no file.
  case orphan(revision: String, parent: String)
  /// More than one migration says `parent: none`.
  case severalRoots([String])
  /// More than one migration has no child: two were added after the same parent.
  case severalHeads([String])
  case cycle([String])
  /// Its line `-- compatible` does not name a migration before it, or a contract has none.
  case badCompatible(revision: String, compatible: String?)
}

extension ChainFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .badName(let revision): "\(revision): a migration's file must be named YYYYMMDD_name.sql"
    case .noParentLine(let revision):
      "\(revision): no line `-- parent: REVISION` (or `none`) in the leading comment"
    case .noDownSection(let revision):
      "\(revision): no line `-- down` before the statements that revert it"
    case .badBatches(let revision, let step):
      "\(revision): the batches “\(step)” must be two statements, a count and a move"
    case .duplicate(let revision): "\(revision): defined more than once"
    case .orphan(let revision, let parent): "\(revision): its parent \(parent) does not exist"
    case .severalRoots(let revisions):
      "several migrations without a parent: \(revisions.joined(separator: ", "))"
    case .severalHeads(let revisions):
      "several heads (migrations without a child): \(revisions.joined(separator: ", "))"
    case .cycle(let revisions):
      "migrations that are their own ancestors: \(revisions.joined(separator: ", "))"
    case .badCompatible(let revision, let compatible?):
      "\(revision): `-- compatible: \(compatible)` must name a migration before it"
    case .badCompatible(let revision, nil):
      "\(revision): a contract needs a line `-- compatible: REVISION`"
    }
  }
}

/// All migrations in their order of execution: each after its parent. Pure.
public struct Chain: Sendable, Equatable {
  public let migrations: [Migration]

  public init(_ migrations: [Migration]) throws(MigrationFailure) {
    let faults = Chain.faults(in: migrations)
    guard faults.isEmpty else { throw .chain(faults) }
    var child: [String: Migration] = [:]
    for migration in migrations { child[migration.parent ?? ""] = migration }
    var ordered: [Migration] = []
    var last = ""
    while let next = child[last] {
      ordered.append(next)
      last = next.revision
    }
    self.migrations = ordered
  }

  public var head: String? { migrations.last?.revision }

  /// The migrations up to and including a revision.
  public func upTo(_ revision: String) throws(MigrationFailure) -> [Migration] {
    guard let index = migrations.firstIndex(where: { $0.revision == revision }) else {
      throw .noSuchRevision(revision)
    }
    return Array(migrations[...index])
  }

  /// All faults, in a stable order; empty if the files form one chain.
  public static func faults(in migrations: [Migration]) -> [ChainFault] {
    var faults: [ChainFault] = []
    var known: [String: Migration] = [:]
    for migration in migrations {
      if known.updateValue(migration, forKey: migration.revision) != nil {
        faults.append(.duplicate(revision: migration.revision))
      }
    }
    let revisions = known.keys.sorted()
    var parents: Set<String> = []
    for revision in revisions {
      guard let parent = known[revision]?.parent else { continue }
      parents.insert(parent)
      if known[parent] == nil { faults.append(.orphan(revision: revision, parent: parent)) }
    }
    let roots = revisions.filter { known[$0]?.parent == nil }
    if roots.count > 1 { faults.append(.severalRoots(roots)) }
    let heads = revisions.filter { !parents.contains($0) }
    if heads.count > 1 { faults.append(.severalHeads(heads)) }

    let cyclic = revisions.filter { hasAncestor($0, $0, known) }
    if !cyclic.isEmpty { faults.append(.cycle(cyclic)) }
    for migration in migrations {
      guard let compatible = migration.compatible else {
        if migration.isContract {
          faults.append(.badCompatible(revision: migration.revision, compatible: nil))
        }
        continue
      }
      if !hasAncestor(migration.revision, compatible, known) {
        faults.append(.badCompatible(revision: migration.revision, compatible: compatible))
      }
    }
    return faults
  }

  private static func hasAncestor(
    _ revision: String, _ wanted: String, _ known: [String: Migration]
  ) -> Bool {
    var ancestor = known[revision]?.parent
    // The number of files bounds the walk: their parents may form a cycle.
    for _ in known {
      if ancestor == wanted { return true }
      ancestor = ancestor.flatMap { known[$0]?.parent }
    }
    return false
  }
}
