import Chat
import Directory
import Engine
import Journal
import Kernel
import Logging
import Postgres
import Primitives

/// The timed tasks of a loop, run by its sweep: removing expired rows, reading the workspaces'
/// origins, starting the gateway's maintenance, storing operators' presence, and returning memory.
struct PeriodicTasks {
  private(set) var nextSweep: Instant
  private var nextHousekeeping: Instant
  private var nextOrigins: Instant
  private var nextMaintenance = Instant.zero
  private var nextHeartbeat = Instant.zero
  private var isHeartbeatInFlight = false
  private var nextAbsence = Instant.zero
  private var isAbsenceInFlight = false
  /// Since when PostgreSQL can be reached without interruption.
  private var steadySince: Instant?
  private var trim = MemoryTrim()

  private static let housekeepingMilliseconds: Int64 = 60_000
  private static let absenceMilliseconds: Int64 = 2_000
  /// After a restart or an outage of the database, each gateway first reports the operators whom it
  /// sees: before, all of them seem absent.
  private static let steadyMilliseconds = 2 * OperatorPresence.beatMilliseconds
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

  // MARK: On the first loop, for all

  /// Deletes expired refresh tokens, old quarantined messages and old revocations.
  mutating func removeExpired(_ store: inout StoreDriver, _ wall: WallTime, now: Instant) {
    guard now >= nextHousekeeping, store.canRead else { return }
    nextHousekeeping = now.advanced(byMilliseconds: PeriodicTasks.housekeepingMilliseconds)
    let limit = PeriodicTasks.housekeepingRows
    let tokens = RefreshToken.forgetExpired(now: wall, limit: limit).query
    _ = store.enqueue(tokens, for: .housekeeping(.forgetTokens), now: now)
    _ = store.enqueue(
      Quarantine.forgetQuery(limit: limit), for: .housekeeping(.forgetQuarantine), now: now)
    _ = store.enqueue(
      Standing.forgetRevocations(limit: limit), for: .housekeeping(.forgetRevocations), now: now)
  }

  /// Reads the allowed origins of all workspaces.
  mutating func readOrigins(_ store: inout StoreDriver, now: Instant) {
    guard now >= nextOrigins, store.canRead else { return }
    nextOrigins = now.advanced(byMilliseconds: Origins.refreshMilliseconds)
    _ = store.enqueue(
      Workspace.allOrigins(limit: Origins.listedMax).query, for: .origins, now: now)
  }

  /// - Returns: whether a round of the gateway's maintenance is due.
  mutating func isMaintenanceDue(_ store: borrowing StoreDriver, now: Instant) -> Bool {
    guard now >= nextMaintenance, store.canRead else { return false }
    nextMaintenance = now.advanced(byMilliseconds: Maintenance.intervalMilliseconds)
    return true
  }

  // MARK: On each loop

  /// Stores which operators are present in the database, for all gateways: at once when an operator
  /// has come, otherwise every few seconds.
  mutating func storePresence(_ engine: inout Engine, _ store: inout StoreDriver, now: Instant) {
    let gone = engine.inbox.takeDepartures(engine.connections)
    if !gone.isEmpty, store.canRead {
      _ = store.enqueue(OperatorPresence.leave(gone).query, for: .departure, now: now)
    }
    let hidden = engine.inbox.takeHidden(engine.connections)
    if !hidden.isEmpty, store.canRead {
      _ = store.enqueue(OperatorPresence.hide(hidden).query, for: .departure, now: now)
    }
    if engine.inbox.takeNewOperators() { nextHeartbeat = now }
    guard now >= nextHeartbeat, !isHeartbeatInFlight, store.canRead else { return }
    nextHeartbeat = now.advanced(byMilliseconds: OperatorPresence.beatMilliseconds)
    let here = engine.inbox.operators(engine.connections)
    guard !here.isEmpty else { return }
    isHeartbeatInFlight = store.enqueue(
      OperatorPresence.beat(
        here, visible: engine.inbox.operators(engine.connections, areVisible: true)
      ).query, for: .presence, now: now)
  }

  /// Looks up which operators of this loop's visitors are away.
  mutating func readAbsences(_ engine: borrowing Engine, _ store: inout StoreDriver, now: Instant) {
    guard store.canRead else {
      steadySince = nil
      return
    }
    let since = steadySince ?? now
    steadySince = since
    guard now.milliseconds(since: since) >= PeriodicTasks.steadyMilliseconds, now >= nextAbsence,
      !isAbsenceInFlight
    else { return }
    nextAbsence = now.advanced(byMilliseconds: PeriodicTasks.absenceMilliseconds)
    let operators = OperatorAbsence.operators(ofVisitorsOf: engine)
    guard !operators.isEmpty else { return }
    isAbsenceInFlight = store.enqueue(
      OperatorPresence.away(of: operators).query, for: .absences, now: now)
  }

  mutating func noteAbsencesRead() { isAbsenceInFlight = false }

  mutating func notePresenceStored() { isHeartbeatInFlight = false }

  /// - Parameter count: the number of sockets that are not WebSockets.
  mutating func trimMemory(httpSockets count: Int, now: Instant) {
    trim.run(httpSockets: count, now: now)
  }
}

/// Returns memory to the kernel after a wave of new sockets, when three quarters of them are closed
/// or upgraded.
private struct MemoryTrim {
  /// Fewer sockets hold at most 11 MiB of a loop.
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
