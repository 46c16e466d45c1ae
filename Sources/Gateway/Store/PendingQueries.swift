import Directory
import Engine
import Postgres
import Primitives

/// The queries that the reader has not answered, by ticket, with their requesters.
struct PendingQueries {
  enum Requester {
    case engine(ReadRequest)
    /// The engine's read of a session that was not found in its supposed workspace.
    case otherWorkspaces(Identifier)
    /// Removes expired rows; the result is only logged.
    case housekeeping(Purpose)
    case quarantine
    case generation
    case origins
    case presence
    case departure
    case absences
    case tokenChecks(Statement<[Standing.Subject: Standing.Exclusion]>)
    case recheck(Statement<[Standing.Subject: Standing.Exclusion]>, count: Int)
    case revocations(Statement<Standing.Revoked>)
    case notification
    case catchUp
    case task(CheckedContinuation<Result<Rows, QueryFailure>, Never>)

    /// For the metrics.
    var statementClass: StatementDurations.Class {
      switch self {
      case .engine(.session), .otherWorkspaces: .session
      case .engine(.entries), .engine(.entriesBefore): .page
      case .engine(.conversation): .conversation
      case .engine(.storeMark), .engine(.storeAvailability): .mark
      case .task: .request
      case .tokenChecks, .recheck, .revocations: .access
      case .notification, .catchUp, .generation: .peers
      case .housekeeping, .quarantine, .origins, .presence, .departure, .absences:
        .upkeep
      }
    }

    /// Nil for queries of tasks, which get their failures.
    var purpose: Purpose? {
      switch self {
      case .task: nil
      case .engine, .otherWorkspaces: .clients
      case .housekeeping(let purpose): purpose
      case .quarantine: .quarantine
      case .generation: .generation
      case .origins: .origins
      case .presence, .departure: .presence
      case .absences: .absences
      case .tokenChecks: .tokenChecks
      case .recheck: .recheck
      case .revocations: .revocations
      case .notification: .notification
      case .catchUp: .catchUp
      }
    }
  }

  /// The purposes of the loop's own statements, for the log.
  enum Purpose: String {
    case clients = "reading and marking conversations for clients"
    case forgetTokens = "deleting expired refresh tokens"
    case forgetQuarantine = "deleting old quarantined messages"
    case forgetRevocations = "deleting old revocations"
    case generation = "reading the generation of the database"
    case tokenChecks = "checking tokens"
    case recheck = "checking connected users"
    case notification = "notifying other gateways"
    case catchUp = "reading changes of other gateways"
    case quarantine = "storing a quarantined message"
    case origins = "reading allowed origins"
    case presence = "storing operators' presence"
    case absences = "reading which operators are away"
    case revocations = "reading revocations"
  }

  /// The result of queries to a loop that has ended.
  static let stopped: Result<Rows, QueryFailure> =
    .failure(.unavailable(reason: "the gateway stops"))

  private var requesters: [UInt64: (requester: Requester, since: Instant)] = [:]
  private var last: UInt64 = 0

  /// Reads of the engine in flight at once; further ones wait in its queue.
  private static let engineReadsMax = 256

  private var engineReads = 0
  /// Whether a query was added since the reader was last advanced.
  var hasNew = false

  var hasRoomForReads: Bool { engineReads < PendingQueries.engineReadsMax }

  var count: Int { requesters.count }

  mutating func add(_ requester: Requester, at now: Instant) -> UInt64 {
    last += 1
    requesters[last] = (requester, now)
    if case .engine = requester { engineReads += 1 }
    return last
  }

  /// The requester of a ticket, and when it was added.
  mutating func take(_ ticket: UInt64) -> (requester: Requester, since: Instant)? {
    let pending = requesters.removeValue(forKey: ticket)
    if case .engine = pending?.requester { engineReads -= 1 }
    return pending
  }

  /// The loop ends: waiting tasks get an error.
  mutating func end() {
    for case (.task(let continuation), _) in requesters.values {
      continuation.resume(returning: PendingQueries.stopped)
    }
    requesters = [:]
  }
}
