/// The visitors of this moment on this gateway: takes beacons in memory, and every few seconds
/// exchanges with PostgreSQL what has changed, so that operators at any gateway see all of them.
import Directory
import JSON
import Postgres
public import Primitives
import Synchronization

public final class WatchedVisitors: Sendable {
  /// Changes of one statement.
  static let changesMax = 2_000
  /// Invitations that are known at once; the newest count.
  static let invitationsMax = 1_000
  /// Messages whose counts wait for PostgreSQL; further ones are not counted.
  static let countedMax = 1_000
  /// Workspaces whose pages are served from memory.
  static let placesMax = 1_024
  /// For this time a page gets what another page of the workspace got.
  static let placeSeconds: Int64 = 5
  /// Exchanges between two searches for rows of ended gateways.
  private static let pruneRounds = 30

  /// What the pages of a workspace need.
  struct Place: Sendable {
    var workspace: Workspace
    var isSomebodyAvailable: Bool
    /// A JSON array.
    var messages: [UInt8]
    var readAt: WallTime
  }

  private struct Counts: Sendable {
    var shown: Int64 = 0
    var answered: Int64 = 0
  }

  private struct Message: Hashable {
    var workspace: Identifier
    var id: Identifier
  }

  private let database: any Database
  private let report: @Sendable (String) -> Void
  private let table = Mutex(WatchTable())
  private let places = Mutex<[String: Place]>([:])
  private let counts = Mutex<[Message: Counts]>([:])
  private let round = Mutex(0)

  init(database: any Database, report: @escaping @Sendable (String) -> Void) {
    self.database = database
    self.report = report
  }

  func note(_ beacon: WatchTable.Beacon, now: WallTime) -> WatchTable.Answer? {
    table.withLock { $0.note(beacon, now: now) }
  }

  func invite(_ key: WatchTable.Key, to invitation: WatchedVisitor.Invitation) {
    table.withLock { $0.invite(key, to: invitation) }
  }

  // MARK: Pages

  /// Nil unless a workspace has this public key.
  func place(_ key: String, now: WallTime) async throws(QueryFailure) -> Place? {
    if let known = places.withLock({ $0[key] }), isFresh(known, now) { return known }
    guard let workspace = try await database.run(Workspace.withPublicKey(key)) else { return nil }
    let (isSomebodyAvailable, messages) = try await database.run(
      ProactiveMessages.forPages(of: workspace.id))
    let place = Place(
      workspace: workspace, isSomebodyAvailable: isSomebodyAvailable, messages: messages,
      readAt: now)
    places.withLock { places in
      if places.count >= WatchedVisitors.placesMax, places[key] == nil { places.removeAll() }
      places[key] = place
    }
    return place
  }

  /// The next page gets what the workspace has changed. Pages at other gateways get it after
  /// `placeSeconds`.
  func forget(_ workspace: Identifier) {
    places.withLock { places in
      places = places.filter { $0.value.workspace.id != workspace }
    }
  }

  private func isFresh(_ place: Place, _ now: WallTime) -> Bool {
    (0..<WatchedVisitors.placeSeconds * 1_000_000)
      .contains(now.microseconds - place.readAt.microseconds)
  }

  /// Counts a proactive message that a page has shown, or with which a conversation began.
  func count(_ id: Identifier, of workspace: Identifier, isAnswer: Bool) {
    counts.withLock { counts in
      let message = Message(workspace: workspace, id: id)
      guard counts.count < WatchedVisitors.countedMax || counts[message] != nil else { return }
      if isAnswer {
        counts[message, default: Counts()].answered += 1
      } else {
        counts[message, default: Counts()].shown += 1
      }
    }
  }

  // MARK: PostgreSQL

  /// Exchanges with PostgreSQL. One call at a time; what fails is sent with the next one.
  public func exchange(as gateway: Identifier, now: WallTime) async {
    let round = self.round.withLock { round in
      round += 1
      return round
    }
    table.withLock { $0.sweep(now: now) }
    do throws(QueryFailure) {
      try await storeChanges(gateway)
      try await storeCounts()
      guard table.withLock({ $0.count }) > 0 || round % WatchedVisitors.pruneRounds == 1 else {
        return
      }
      if round % WatchedVisitors.pruneRounds == 1 {
        try await database.run(WatchedVisitor.prune(except: gateway))
        try await database.run(ProactiveMessages.prune)
      }
      let invitations = try await database.run(
        WatchedVisitor.invitations(limit: WatchedVisitors.invitationsMax))
      let byKey = Dictionary(
        invitations.map {
          (WatchTable.Key(workspace: $0.workspace, watcher: $0.watcher), $0.invitation)
        }, uniquingKeysWith: { first, _ in first })
      table.withLock { $0.useInvitations(byKey) }
    } catch {
      guard case .refused(let state, let message) = error, !state.isTransient else { return }
      report("PostgreSQL refused a statement about visitors: \(state.code) \(message)")
    }
  }

  private func storeChanges(_ gateway: Identifier) async throws(QueryFailure) {
    if table.withLock({ $0.mustRemoveAll }) {
      try await database.run(WatchedVisitor.removeAll(of: gateway))
      table.withLock { $0.forgetStored() }
    }
    while true {
      let changes = table.withLock { $0.takeChanges(limit: WatchedVisitors.changesMax) }
      guard !changes.isEmpty else { return }
      let storedCount: Int64
      do throws(QueryFailure) {
        storedCount = try await database.run(
          WatchedVisitor.store(WatchedVisitors.json(changes), gateway: gateway))
      } catch {
        // A statement that PostgreSQL refuses for good would be refused again.
        if case .refused(let state, _) = error, !state.isTransient { throw error }
        table.withLock { $0.giveBack(changes) }
        throw error
      }
      table.withLock { table in
        if storedCount < Int64(table.storedCount) { table.forgetStored() }
      }
      if changes.count < WatchedVisitors.changesMax { return }
    }
  }

  private func storeCounts() async throws(QueryFailure) {
    let taken = counts.withLock { counts in
      defer { counts = [:] }
      return counts
    }
    guard !taken.isEmpty else { return }
    var json = Array("[".utf8)
    for (message, counts) in taken {
      json.appendComma()
      json += .object {
        $0.appendMember("workspace", message.workspace)
        $0.appendMember("id", message.id)
        $0.appendMember("shown", counts.shown)
        $0.appendMember("answered", counts.answered)
      }
    }
    json.append(UInt8(ascii: "]"))
    try await database.run(ProactiveMessages.count(json))
  }

  private static func json(_ changes: [WatchedVisitor.Change]) -> [UInt8] {
    var json = Array("[".utf8)
    for change in changes {
      json.appendComma()
      json += .object {
        $0.appendMember("workspace", change.workspace)
        $0.appendMember("watcher", change.watcher)
        guard let state = change.state else { return }
        $0.appendMember("hash", change.secretHash.hexadecimal)
        $0.appendMember("state", state)
        if let visit = change.visit { $0.appendMember("visit", json: visit) }
      }
    }
    json.append(UInt8(ascii: "]"))
    return json
  }
}
