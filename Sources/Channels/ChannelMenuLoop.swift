/// Brings the platforms' copies of menus up to date, a few at a time, step by step.
///
/// A gateway holds a lease on a workspace's copy, and prolongs it before each step. A gateway that
/// takes over starts from the beginning (`MenuSync`), wherever the last one has stopped.
import Directory
import HTTPClient
import Kernel
import Postgres
import Primitives
import Webhooks

struct ChannelMenuLoop: ~Copyable {
  /// The most at a time: each may hold a picture in memory.
  static let syncsMax = 4
  /// How long a turn waits while one is under way.
  static let pollMilliseconds: Int64 = 20
  /// The pauses after failed attempts: the first, and the longest. Each is twice the last.
  static let firstPauseMilliseconds: Int64 = 5_000
  static let longestPauseMilliseconds: Int64 = 3_600_000
  /// From this attempt on the menu is shown as failed, while attempts go on.
  static let patience = 6

  private struct Running {
    var taken: ChannelMenus.Taken
    var sync: any MenuSync
  }

  private var options: ChannelOptions
  private var client: HTTPClient
  /// For addresses that members choose.
  private var fetcher: HTTPClient
  private var inFlight: [UInt64: Running] = [:]
  /// Answers that wait for PostgreSQL.
  private var answered: [(running: Running, outcome: HTTPOutcome)] = []
  private var lastTicket: UInt64 = 0

  init(_ options: ChannelOptions) {
    self.options = options
    client = HTTPClient(connectionsMax: ChannelMenuLoop.syncsMax) { _ in true }
    let addressGuard = options.addressGuard
    fetcher = HTTPClient(connectionsMax: ChannelMenuLoop.syncsMax) { addressGuard.admits($0) }
  }

  var isBusy: Bool { !inFlight.isEmpty || !answered.isEmpty }

  private var leaseMilliseconds: Int64 {
    Int64(options.timeoutMilliseconds) + ChannelLoop.leaseReserveMilliseconds
  }

  mutating func use(_ options: ChannelOptions) { self.options = options }

  /// Takes what is due.
  func take(_ database: inout OutboxConnection) -> [ChannelMenus.Taken] {
    let room = ChannelMenuLoop.syncsMax - inFlight.count - answered.count
    guard room > 0 else { return [] }
    let milliseconds = leaseMilliseconds
    return database.transaction { connection -> [ChannelMenus.Taken] in
      let rows = try connection.run(ChannelMenus.lock(room: room))
      return try (0..<rows.count).compactMap { row in
        guard let workspace = rows.uuid(row, 0), let channel = rows.text(row, 1) else { return nil }
        let lease = Identifier.random()
        let taken = try connection.run(
          ChannelMenus.take(workspace, channel, lease: lease, leaseMilliseconds: milliseconds))
        return ChannelMenus.taken(taken, workspace, channel, lease: lease)
      }
    } ?? []
  }

  mutating func begin(
    _ taken: ChannelMenus.Taken, secret: [UInt8], _ database: inout OutboxConnection
  ) {
    guard let channel = Channels.named(taken.channel),
      let api = options.platforms[taken.channel],
      let sync = channel.menuSync(
        taken.menu, in: taken.workspace,
        at: MenuPlace(api: api, data: options.dataPlatforms[taken.channel] ?? api),
        secret: secret, milliseconds: options.timeoutMilliseconds)
    else { return end(taken, .done, &database) }
    go(on: Running(taken: taken, sync: sync), nil, &database)
  }

  /// Continues the requests in flight without waiting.
  mutating func advance(_ database: inout OutboxConnection) {
    guard isBusy else { return }
    client.advance(milliseconds: 0)
    fetcher.advance(milliseconds: 0)
    while let (ticket, outcome) = client.takeEnded() ?? fetcher.takeEnded() {
      guard let running = inFlight.removeValue(forKey: ticket) else { continue }
      answered.append((running, outcome))
    }
    while database.isOpen, let (running, outcome) = answered.first {
      guard
        let kept = database.run(
          ChannelMenus.keep(running.taken, leaseMilliseconds: leaseMilliseconds))
      else { return }
      answered.removeFirst()
      if kept.affected > 0 { go(on: running, outcome, &database) }
    }
  }

  private mutating func go(
    on running: Running, _ outcome: HTTPOutcome?, _ database: inout OutboxConnection
  ) {
    var running = running
    lastTicket += 1
    let isBegun: Bool
    switch running.sync.next(after: outcome) {
    case .request(let request): isBegun = client.begin(request, ticket: lastTicket)
    case .fetch(let request): isBegun = fetcher.begin(request, ticket: lastTicket)
    case .end(let end): return self.end(running.taken, end, &database)
    }
    if isBegun {
      inFlight[lastTicket] = running
    } else {
      answered.append((running, .failed(reason: "the URL is invalid")))
    }
  }

  /// Records an end. If PostgreSQL is unavailable, the lease ends, and another attempt begins.
  func end(
    _ taken: ChannelMenus.Taken, _ end: MenuEnd, _ database: inout OutboxConnection
  ) {
    let query: Query
    switch end {
    case .done:
      query = ChannelMenus.finish(
        taken, status: "synced", others: "none", reason: nil, milliseconds: nil)
    case .failed(let reason, let isClean):
      query = ChannelMenus.finish(
        taken, status: "failed", others: isClean ? "none" : "failed", reason: reason,
        milliseconds: nil)
    case .retry(let reason, let seconds):
      let isLate = taken.attempt >= ChannelMenuLoop.patience
      query = ChannelMenus.finish(
        taken, status: isLate ? "failed" : nil, others: isLate ? "failed" : nil, reason: reason,
        milliseconds: ChannelMenuLoop.pause(after: taken.attempt, seconds: seconds))
    }
    _ = database.transaction { connection in
      _ = try connection.run(ChannelMenus.lockMenus(of: taken.workspace))
      _ = try connection.run(query)
    }
  }

  /// The pause after an attempt, in milliseconds, with jitter of up to a fifth.
  private static func pause(after attempt: Int, seconds: Int64) -> Int64 {
    let doubled = firstPauseMilliseconds << min(max(0, attempt - 1), 12)
    let asked = min(seconds, longestPauseMilliseconds / 1_000) * 1_000
    let pause = max(min(doubled, longestPauseMilliseconds), asked)
    return pause + Int64(Random.uint64() % UInt64(pause / 5))
  }

  /// Gives back what is unfinished.
  mutating func release(_ database: inout OutboxConnection) {
    for running in Array(inFlight.values) + answered.map(\.running) {
      _ = database.run(ChannelMenus.release(running.taken))
    }
    inFlight = [:]
    answered = []
  }
}
