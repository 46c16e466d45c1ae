/// What one loop has asked, or has to ask, the database about the people behind its connections:
/// whether a token is still good before its connection is welcomed or renewed, and whether those
/// who are connected may stay. Both in batches, one statement of each kind at a time.
import API
import Chat
import Directory
import Engine
import Primitives

struct Standings {
  /// A verified token that waits for the database.
  struct Claim {
    enum Step {
      case hello(Member)
      /// From another loop, with a hello.
      case arrival
    }
    var socket: SocketID
    var connection: ConnectionID
    var subject: Standing.Subject
    var step: Step
    /// Something was revoked since the statement began: its answer does not count.
    var isStale = false
  }

  /// People who are checked again, in parts, and those who wait for that.
  struct Recheck {
    var subjects: [Standing.Subject]
    var countdowns: [Countdown]
  }

  /// One for each connection at most.
  var waiting: [Claim] = []
  private var asked: [Claim] = []
  private(set) var areClaimsUnderWay = false
  /// What the operators' connections stand for, by their sockets, once it was confirmed.
  var logins: [SocketID: OperatorLogin] = [:]

  /// Whom to check again with the next statement; nil: everybody.
  private(set) var hints: Set<Identifier>? = []
  private var hinted: [Countdown] = []
  private(set) var recheck: Recheck?
  var isRecheckUnderWay = false

  /// For messages that came before and are not stored yet.
  var settling: [(since: Instant, countdown: Countdown)] = []
  /// Of those who wait on this loop, when they are answered in any case.
  var limits: [(at: Instant, countdown: Countdown)] = []
  /// Confirmed at the end of the iteration, when all that was written has left.
  var done: [Countdown] = []

  /// After a statement that failed.
  var notBefore = Instant.zero
  static let retryMilliseconds: Int64 = 250
  /// A request that shuts somebody out waits this long for each of its steps.
  static let limitMilliseconds: Int64 = 5_000

  // MARK: Claims

  mutating func add(_ claim: Claim) { waiting.append(claim) }

  /// The claims of the next statement.
  mutating func takeClaims() -> [Standing.Subject] {
    guard !areClaimsUnderWay else { return [] }
    asked = Array(waiting.prefix(Standing.checkedMax))
    waiting.removeFirst(asked.count)
    areClaimsUnderWay = !asked.isEmpty
    return asked.map(\.subject)
  }

  /// Those whose answer counts; the others are asked about again.
  mutating func settleClaims(isAnswered: Bool) -> [Claim] {
    areClaimsUnderWay = false
    var settled: [Claim] = []
    var again: [Claim] = []
    for var claim in asked {
      if isAnswered, !claim.isStale {
        settled.append(claim)
      } else {
        claim.isStale = false
        again.append(claim)
      }
    }
    asked = []
    waiting = again + waiting
    return settled
  }

  // MARK: Those who are connected

  /// Somebody was shut out; nil: anybody may have been.
  mutating func look(at ids: Set<Identifier>?, _ countdown: Countdown?) {
    for index in asked.indices where ids?.contains(asked[index].subject.id) ?? true {
      asked[index].isStale = true
    }
    if let ids { hints?.formUnion(ids) } else { hints = nil }
    if let countdown { hinted.append(countdown) }
  }

  /// Whether somebody is to be checked again.
  var mustLook: Bool { recheck != nil || hints?.isEmpty != true || !hinted.isEmpty }

  /// Whether those who were named are to be looked for now.
  var isLookDue: Bool { recheck == nil && mustLook }

  /// - Parameter subjects: those of `hints` who are connected to this loop.
  mutating func beginRecheck(of subjects: Set<Standing.Subject>) {
    recheck = Recheck(subjects: Array(subjects), countdowns: hinted)
    hints = []
    hinted = []
    endRecheckIfDone()
  }

  /// The subjects of the next statement.
  var checked: [Standing.Subject] {
    recheck.map { Array($0.subjects.prefix(Standing.checkedMax)) } ?? []
  }

  mutating func advanceRecheck(by count: Int) {
    recheck?.subjects.removeFirst(count)
    endRecheckIfDone()
  }

  private mutating func endRecheckIfDone() {
    guard let over = recheck, over.subjects.isEmpty else { return }
    recheck = nil
    done += over.countdowns
  }

  /// The loop ends: nobody waits for ever.
  mutating func end() {
    let countdowns =
      hinted + (recheck?.countdowns ?? []) + settling.map(\.countdown) + limits.map(\.countdown)
    for countdown in countdowns + done { countdown.giveUp() }
    self = Standings()
  }
}

/// What was revoked in the database, read by one loop for all: at once when it is told (NOTIFY),
/// and twice a second in any case.
struct Revocations {
  /// See `Standing.revoked`.
  var horizon: String?
  /// The database of the horizon.
  var store = ""
  var isUnderWay = false
  var next = Instant.zero

  static let pollMilliseconds: Int64 = 400
}
