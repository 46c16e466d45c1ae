import Glibc
import Kernel
import Synchronization

/// What happens to the private server while a gateway uses it.
public enum ClusterEvent: Sendable, Equatable {
  /// Its process has ended though nobody here asked for that. It is started again.
  case ended(reason: String)
  /// It could not be started again, or ended before it answered; tried again. Once for each reason.
  case notStarted(reason: String)
  case running(afterMilliseconds: Int)
}

/// Keeps a private server running, on a thread of its own: the death signal of a child comes when
/// the thread that started it ends, not the process (prctl(2)).
///
/// Invariant: the server's number is in `State` only while the process is not reaped, so that no
/// signal reaches a stranger.
final class Keeper: Sendable {
  /// Before the server is started again: none the first time, then 50 ms, doubled with each server
  /// that did not stay, up to a second.
  struct Pause {
    static let firstMilliseconds = 50
    static let lastMilliseconds = 1_000
    /// After this long it counts as one that stays.
    static let calmMilliseconds = 1_000

    private var next = 0

    mutating func take(hasRunMilliseconds: Int) -> Int {
      if hasRunMilliseconds >= Pause.calmMilliseconds { next = 0 }
      defer { next = min(Pause.lastMilliseconds, max(Pause.firstMilliseconds, 2 * next)) }
      return next
    }
  }

  private struct State {
    var process: pid_t?
    /// How often a server has begun to answer.
    var readyCount = 0
    var mayStart = true
    var isStopping = false
    var hasEnded = false
    /// Why the first one did not start.
    var failure: ClusterFailure?
  }

  private let state = Mutex(State())
  private let restartsByItself: Bool
  private let report: @Sendable (ClusterEvent) -> Void

  init(restartsByItself: Bool, report: @escaping @Sendable (ClusterEvent) -> Void) {
    self.restartsByItself = restartsByItself
    self.report = report
  }

  /// Begins; `readyCount` and `failure` tell how it went.
  func begin(_ server: Server) throws(ClusterFailure) {
    do throws(Errno) {
      // Nobody joins it: `hasEnded` is the last that it says.
      _ = try Thread.spawn(name: "postgres") { self.run(server) }
    } catch {
      throw .system(operation: "start", path: "a thread", reason: systemText(error.rawValue))
    }
  }

  var readyCount: Int { state.withLock { $0.readyCount } }
  var failure: ClusterFailure? { state.withLock { $0.failure } }
  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  func send(_ signal: Int32) {
    state.withLock { if let process = $0.process { kill(process, signal) } }
  }

  /// For one that does not start again by itself.
  func start() { state.withLock { $0.mayStart = true } }

  /// Bounded: a server that does not stop in 30 s is told to stop at once and recovers at its next
  /// start.
  func stop() {
    state.withLock { $0.isStopping = true }
    for (signal, milliseconds) in [(SIGINT, 30_000), (SIGQUIT, 10_000), (SIGKILL, 5_000)] {
      send(signal)
      if waitUntil(milliseconds: milliseconds, { self.hasEnded }) { return }
    }
  }

  // MARK: On its thread

  private func run(_ server: Server) {
    let clock = ContinuousClock()
    var pause = Pause()
    var lastReason: String?
    var downSince: ContinuousClock.Instant?
    while mayStart() {
      var begin = clock.now
      var reason: String
      var hasAnswered = false
      do throws(ClusterFailure) {
        if downSince != nil { _ = try Leftovers.end(on: server.data) }
        let process = try server.launch()
        took(process)
        if awaitReady(process, server) {
          hasAnswered = true
          begin = clock.now
          if let since = downSince { report(.running(afterMilliseconds: milliseconds(since))) }
          (downSince, lastReason) = (nil, nil)
        }
        let end = reap(process)
        reason = hasAnswered ? "PostgreSQL (process \(process))" : "it"
        reason += " \(end.description)"
        if let words = server.lastWords(of: process, end) { reason += ": \(words)" }
      } catch {
        reason = "\(error)"
      }
      if isStopping { break }
      if readyCount == 0 {
        state.withLock { $0.failure = .program(name: "postgres", output: reason) }
        break
      }
      if hasAnswered {
        report(.ended(reason: reason))
      } else if reason != lastReason {
        report(.notStarted(reason: reason))
      }
      lastReason = hasAnswered ? nil : reason
      downSince = downSince ?? clock.now
      sleep(milliseconds: pause.take(hasRunMilliseconds: hasAnswered ? milliseconds(begin) : 0))
    }
    state.withLock { $0.hasEnded = true }
  }

  private var isStopping: Bool { state.withLock { $0.isStopping } }

  /// False when it is to stop.
  private func mayStart() -> Bool {
    while true {
      let (isStopping, may) = state.withLock { state in
        defer { if !restartsByItself { state.mayStart = false } }
        return (state.isStopping, state.mayStart)
      }
      if isStopping { return false }
      if may { return true }
      usleep(5_000)
    }
  }

  private func took(_ process: pid_t) {
    state.withLock { state in
      state.process = process
      // It was asked to stop before there was anybody to ask.
      if state.isStopping { kill(process, SIGINT) }
    }
  }

  /// False when it has ended instead. Recovery after a crash takes as long as it takes.
  private func awaitReady(_ process: pid_t, _ server: Server) -> Bool {
    while !hasEnded(process, WNOHANG) {
      if let running = Postmaster.running(on: server.data), running.process == process,
        running.isReady
      {
        state.withLock { $0.readyCount += 1 }
        return true
      }
      usleep(5_000)
    }
    return false
  }

  /// With WNOHANG at this moment, with 0 in any case. It stays a zombie, so that its number stays
  /// its own.
  private func hasEnded(_ process: pid_t, _ options: Int32) -> Bool {
    var information = unsafe siginfo_t()
    while true {
      // SAFETY: `information` is written during the call.
      let failure = unsafe waitid(
        P_PID, id_t(process), &information, WEXITED | WNOWAIT | options)
      if failure == 0 { return unsafe information.si_signo == SIGCHLD }
      // Nobody else may wait for it; if somebody did, it has ended.
      if errno != EINTR { return true }
    }
  }

  private func reap(_ process: pid_t) -> ProcessEnd {
    _ = hasEnded(process, 0)
    return state.withLock { state in
      state.process = nil
      var word: Int32 = 0
      // SAFETY: `word` is written during the call.
      _ = unsafe waitpid(process, &word, 0)
      return ProcessEnd(word: word)
    }
  }

  private func sleep(milliseconds: Int) {
    _ = waitUntil(milliseconds: milliseconds) { self.isStopping }
  }

  private func milliseconds(_ since: ContinuousClock.Instant) -> Int {
    let (seconds, attoseconds) = since.duration(to: .now).components
    return Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
  }
}
