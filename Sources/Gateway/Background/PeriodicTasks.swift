import Chat
import Directory
import Engine
import Journal
import Kernel
import Logging
import Postgres
import Primitives

/// What a loop does by the clock, with each sweep: removes what has expired, reads the workspaces'
/// origins, starts the gateway's maintenance, says which operators are there, and gives memory
/// back.
struct PeriodicTasks {
  private(set) var nextSweep: Instant
  private var nextHousekeeping: Instant
  private var nextOrigins: Instant
  private var nextMaintenance = Instant.zero
  private var nextHeartbeat = Instant.zero
  private var isHeartbeatUnderWay = false
  private var trim = MemoryTrim()

  private static let housekeepingMilliseconds: Int64 = 60_000
  /// Rows that one round of housekeeping removes.
  private static let housekeepingRows = 1_000

  init(now: Instant) {
    nextSweep = now
    nextHousekeeping = now
    nextOrigins = now
  }

  /// - Returns: whether a sweep is due: true once for each.
  mutating func beginSweepIfDue(now: Instant) -> Bool {
    guard now >= nextSweep else { return false }
    nextSweep = now.advanced(byMilliseconds: Engine.sweepMilliseconds)
    return true
  }

  mutating func sweepNow(_ now: Instant) { nextSweep = now }

  // MARK: Of one loop for all

  /// Secrets of visitors who never came back, old quarantined messages, old revocations.
  mutating func removeExpired(_ store: inout StoreDriver, _ wall: WallTime, now: Instant) {
    guard now >= nextHousekeeping, store.canRead else { return }
    nextHousekeeping = now.advanced(byMilliseconds: PeriodicTasks.housekeepingMilliseconds)
    let limit = PeriodicTasks.housekeepingRows
    let tokens = RefreshToken.forgetExpired(now: wall, limit: limit).query
    _ = store.ask(tokens, for: .housekeeping(.forgetTokens), now: now)
    _ = store.ask(
      Quarantine.forgetQuery(limit: limit), for: .housekeeping(.forgetQuarantine), now: now)
    _ = store.ask(
      Standing.forgetRevocations(limit: limit), for: .housekeeping(.forgetRevocations), now: now)
  }

  /// The lists of origins of all workspaces.
  mutating func readOrigins(_ store: inout StoreDriver, now: Instant) {
    guard now >= nextOrigins, store.canRead else { return }
    nextOrigins = now.advanced(byMilliseconds: Origins.refreshMilliseconds)
    _ = store.ask(
      Workspace.allOrigins(limit: Origins.listedMax).query, for: .origins, now: now)
  }

  /// Whether a round of the gateway's maintenance is due.
  mutating func isMaintenanceDue(_ store: borrowing StoreDriver, now: Instant) -> Bool {
    guard now >= nextMaintenance, store.canRead else { return false }
    nextMaintenance = now.advanced(byMilliseconds: Maintenance.intervalMilliseconds)
    return true
  }

  // MARK: Of each loop

  /// Stores which operators are there, where all gateways meet: at once when somebody has come,
  /// otherwise now and then.
  mutating func storePresence(_ engine: inout Engine, _ store: inout StoreDriver, now: Instant) {
    if engine.takeNewOperators() { nextHeartbeat = now }
    guard now >= nextHeartbeat, !isHeartbeatUnderWay, store.canRead else { return }
    nextHeartbeat = now.advanced(byMilliseconds: OperatorPresence.beatMilliseconds)
    let here = engine.operatorsHere()
    guard !here.isEmpty else { return }
    isHeartbeatUnderWay = store.ask(
      OperatorPresence.beat(here).query, for: .presence, now: now)
  }

  mutating func notePresenceStored() { isHeartbeatUnderWay = false }

  /// - Parameter count: of the sockets that are not WebSockets.
  mutating func trimMemory(httpSockets count: Int, now: Instant) {
    trim.run(httpSockets: count, now: now)
  }
}

/// The memory behind a wave of new sockets: given back once three quarters of them have gone.
private struct MemoryTrim {
  /// Fewer sockets of a loop keep 11 MiB at most.
  private static let waveMin = 256
  private static let milliseconds: Int64 = 2_000

  private var wave = 0
  private var next = Instant.zero

  mutating func run(httpSockets count: Int, now: Instant) {
    wave = max(wave, count)
    guard wave >= MemoryTrim.waveMin, count <= wave / 4, now >= next else { return }
    wave = count
    next = now.advanced(byMilliseconds: MemoryTrim.milliseconds)
    ProcessMemory.giveBack()
  }
}
