import Directory
import Engine
import Postgres
import Primitives

/// The questions that the reader has not answered, by ticket, and whose each of them is.
struct PendingQueries {
  enum Requester {
    case engine(ReadRequest)
    /// The engine asked for a session that its workspace does not have.
    case otherWorkspaces(Identifier)
    /// Removes what has expired: nobody waits for it.
    case housekeeping(Purpose)
    case quarantine
    case generation
    case origins
    case presence
    case tokenChecks(Statement<Set<Standing.Subject>>)
    case recheck(Statement<Set<Standing.Subject>>, count: Int)
    case revocations(Statement<Standing.Revoked>)
    case notification
    case catchUp
    case task(CheckedContinuation<Result<Rows, QueryFailure>, Never>)

    /// Nil for the engine's and the tasks' own.
    var purpose: Purpose? {
      switch self {
      case .engine, .otherWorkspaces, .task: nil
      case .housekeeping(let purpose): purpose
      case .quarantine: .quarantine
      case .generation: .generation
      case .origins: .origins
      case .presence: .presence
      case .tokenChecks: .tokenChecks
      case .recheck: .recheck
      case .revocations: .revocations
      case .notification: .notification
      case .catchUp: .catchUp
      }
    }
  }

  /// What the statements are for that a loop repeats by itself, for the log.
  enum Purpose: String {
    case forgetTokens = "forget refresh tokens"
    case forgetQuarantine = "forget quarantined messages"
    case forgetRevocations = "forget revocations"
    case generation = "changes"
    case tokenChecks = "claims"
    case notification = "bell"
    case catchUp = "look"
    case quarantine, origins, presence, recheck, revocations
  }

  /// The answer to whatever is asked of a loop that ends.
  static let stopped: Result<Rows, QueryFailure> =
    .failure(.unavailable(reason: "the gateway stops"))

  private var requesters: [UInt64: Requester] = [:]
  private var last: UInt64 = 0

  /// Reads of the engine that are under way at once; the others wait in its queue.
  private static let engineReadsMax = 256

  private var engineReads = 0
  /// A query came since the reader was last driven.
  var hasNew = false

  var hasRoomForReads: Bool { engineReads < PendingQueries.engineReadsMax }

  mutating func add(_ requester: Requester) -> UInt64 {
    last += 1
    requesters[last] = requester
    if case .engine = requester { engineReads += 1 }
    return last
  }

  mutating func take(_ ticket: UInt64) -> Requester? {
    let requester = requesters.removeValue(forKey: ticket)
    if case .engine = requester { engineReads -= 1 }
    return requester
  }

  /// Nothing is asked any more: the tasks that wait get an error.
  mutating func end() {
    for case .task(let continuation) in requesters.values {
      continuation.resume(returning: PendingQueries.stopped)
    }
    requesters = [:]
  }
}
