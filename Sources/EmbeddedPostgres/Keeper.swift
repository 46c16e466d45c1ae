import Glibc
import Kernel
import Synchronization

/// A change of the private server's state.
public enum ClusterEvent: Sendable, Equatable {
  /// The process has ended unexpectedly and is restarted.
  case ended(reason: String)
  /// A restart failed, or the process ended before it accepted connections; it is tried again.
  /// Reported once per reason.
  case notStarted(reason: String)
  /// The server accepts connections again; the milliseconds since it ended.
  case running(afterMilliseconds: Int)
}

/// Starts, supervises and restarts the private server. It has its own thread, because a child's
/// death signal comes when the thread that started it ends, not the process (prctl(2)).
///
/// Invariant: `State` has the server's process id only until the process is reaped, so that no
/// signal reaches another process.
final class Keeper: Sendable {
  /// The pause before a restart: none the first time, then 50 ms, doubled up to 1 s with each
  /// server that ended within `calmMilliseconds`.
  struct Pause {
    static let firstMilliseconds = 50
    static let lastMilliseconds = 1_000
    /// A server that has run for this long resets the pause.
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
    /// The number of starts after which the server accepted connections.
    var readyCount = 0
    var mayStart = true
    var isStopping = false
    var hasEnded = false
    /// The reason why the first start failed.
    var failure: ClusterFailure?
  }

  private let state = Mutex(State())
  private let restartsByItself: Bool
  private let report: @Sendable (ClusterEvent) -> Void

  init(restartsByItself: Bool, report: @escaping @Sendable (ClusterEvent) -> Void) {
    self.restartsByItself = restartsByItself
    self.report = report
  }

  /// Starts the thread; `readyCount` and `failure` have the result.
  func begin(_ server: Server) throws(ClusterFailure) {
    do throws(Errno) {
      // The thread is not joined: it sets `hasEnded` last.
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

  /// Starts the server again if `restartsByItself` is false.
  func start() { state.withLock { $0.mayStart = true } }

  /// Stops the server, within 45 s: a fast shutdown, after 30 s an immediate one, after another 10
  /// s SIGKILL. After the last two it recovers at its next start.
  func stop() {
    state.withLock { $0.isStopping = true }
    for (signal, milliseconds) in [(SIGINT, 30_000), (SIGQUIT, 10_000), (SIGKILL, 5_000)] {
      send(signal)
      if waitUntil(milliseconds: milliseconds, { self.hasEnded }) { return }
    }
  }

  // MARK: The thread

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
        setProcess(process)
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

  /// Waits until the server may start; false when stopping.
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

  private func setProcess(_ process: pid_t) {
    state.withLock { state in
      state.process = process
      // `stop` came before the process existed.
      if state.isStopping { kill(process, SIGINT) }
    }
  }

  /// Waits until the server accepts connections, without a time limit because of crash recovery;
  /// false if the process has ended.
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

  /// Whether the process has ended; waits for that unless `options` is WNOHANG. The process stays a
  /// zombie, so that its id is not reused.
  private func hasEnded(_ process: pid_t, _ options: Int32) -> Bool {
    var information = unsafe siginfo_t()
    while true {
      // SAFETY: `information` is written during the call.
      let failure = unsafe waitid(
        P_PID, id_t(process), &information, WEXITED | WNOWAIT | options)
      if failure == 0 { return unsafe information.si_signo == SIGCHLD }
      // Any other error means that the process was reaped elsewhere, so it has ended.
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
