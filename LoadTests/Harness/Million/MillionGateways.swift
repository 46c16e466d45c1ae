/// The gateways of `million`: processes of the installed program on addresses of 127.0.0.0/8 with
/// one database, stopped in any case.
import Foundation
import Kernel
import Primitives
import Synchronization

final class MillionGateways {
  let targets: [Target]
  private let binary: String
  private let folder: String
  private let loops: Int
  private let children: Children
  private(set) var problems: [String] = []

  private static let readyMilliseconds: Int64 = 300_000
  private static let endMilliseconds: Int64 = 60_000
  private static let drainSeconds = 2
  /// Gateways that start at once: each reads the database.
  private static let startsAtOnce = 4

  /// Processes by the number of their gateway. A value that owns processes needs a class.
  private final class Children {
    var all: [Child] = []
  }

  private final class Child {
    var process: ChildProcess?
    let identifier: Int32

    init(_ process: consuming ChildProcess) {
      identifier = process.processIdentifier
      self.process = consume process
    }
  }

  init(_ count: Int, binary: String, folder: String, loops: Int) throws {
    self.binary = binary
    self.folder = folder
    self.loops = loops
    // The same port everywhere; every address of 127.0.0.0/8 has its own.
    let first = MillionPlan.address(ofGateway: 0)
    let port = try Sockets.listen(on: first, port: 0).localPort()
    targets = try (0..<count).map { number in
      guard let target = Target("ws://\(MillionPlan.address(ofGateway: number)):\(port)") else {
        throw WorkerFailure(description: "gateway \(number) has no address")
      }
      return target
    }
    children = Children()
  }

  deinit { stop() }

  var processes: [Int] { children.all.map { Int($0.identifier) } }

  /// Starts all and waits until they are ready; the first one creates the tables.
  ///
  /// - Parameter isStopped: asked often; true ends the start.
  func start(databaseURL: String, isStopped: () -> Bool) throws {
    try launch(0, databaseURL)
    try awaitReady(0, isStopped)
    for begin in stride(from: 1, to: targets.count, by: MillionGateways.startsAtOnce) {
      let wave = begin..<min(begin + MillionGateways.startsAtOnce, targets.count)
      for number in wave { try launch(number, databaseURL) }
      for number in wave { try awaitReady(number, isStopped) }
    }
  }

  /// The environment without settings of the gateway, which would be meant for another one.
  static var environment: [String] {
    ProcessInfo.processInfo.environment
      .filter { !$0.key.hasPrefix("CHIRRUP_") && $0.key != "DATABASE_URL" }
      .map { "\($0.key)=\($0.value)" }
  }

  private func log(_ number: Int) -> String { "\(folder)/gateway-\(number).log" }

  private func launch(_ number: Int, _ databaseURL: String) throws {
    let target = targets[number]
    var command = Command(
      binary,
      [
        "serve", "--demo", "--listen", "\(target.address):\(target.port)", "--database-url",
        databaseURL, "--loops", String(loops), "--drain-seconds",
        String(MillionGateways.drainSeconds),
        // A line for each connection that ends would be a quarter of a gigabyte.
        "--log-level", "notice",
      ])
    command.environment =
      MillionGateways.environment
      + ["CHIRRUP_ADMIN_LISTEN=listen", "CHIRRUP_DEMO_CONTENT=false"]
    command.output = .file(log(number))
    command.errors = .file(log(number))
    // Ctrl-C must reach only this program, which then stops the gateways.
    command.hasOwnGroup = true
    let child = Child(try ChildProcess.spawn(command))
    StartedProcesses.add(child.identifier)
    children.all.append(child)
  }

  private func awaitReady(_ number: Int, _ isStopped: () -> Bool) throws {
    guard let target = Target("ws://\(targets[number].host)/readyz") else { return }
    let limit = SystemClock.now().advanced(byMilliseconds: MillionGateways.readyMilliseconds)
    while SystemClock.now() < limit {
      if isStopped() { throw WorkerFailure(description: "ended while the gateways started") }
      if HTTPProbe.answersOK(target) { return }
      if let end = unexpectedEnd(number) { throw WorkerFailure(description: end) }
      usleep(20_000)
    }
    throw WorkerFailure(
      description: "gateway \(number) is not ready: \(ServerProcess.tail(log(number)))")
  }

  private func unexpectedEnd(_ number: Int) -> String? {
    guard let status = try? children.all[number].process?.poll() ?? nil else { return nil }
    return "gateway \(number) ended with \(status): \(ServerProcess.tail(log(number)))"
  }

  /// Gateways that have ended although nobody stopped them.
  func unexpectedEnds() -> [String] { children.all.indices.compactMap { unexpectedEnd($0) } }

  /// Sends SIGTERM to all, and SIGKILL after a time. Each must end with status 0.
  func stop() {
    for child in children.all { try? child.process?.send(.terminate) }
    let limit = SystemClock.now().advanced(byMilliseconds: MillionGateways.endMilliseconds)
    for (number, child) in children.all.enumerated() {
      let left = max(0, limit.milliseconds(since: SystemClock.now()))
      let status = try? child.process?.wait(milliseconds: left) ?? nil
      if status != .exited(0) {
        problems.append(
          "gateway \(number) ended with \(status.map { "\($0)" } ?? "nothing in time") on SIGTERM: "
            + ServerProcess.tail(log(number)))
      }
      // Releasing the process kills it if it is still running.
      child.process = nil
      StartedProcesses.remove(child.identifier)
    }
    children.all = []
  }
}

/// Processes that must not outlive this one, also if it ends by `exit`, as after a second Ctrl-C.
enum StartedProcesses {
  private static let all = Mutex<Set<Int32>>([])
  private static let handler: Void = {
    atexit { StartedProcesses.killAll() }
  }()

  static func add(_ process: Int32) {
    _ = handler
    all.withLock { _ = $0.insert(process) }
  }

  static func remove(_ process: Int32) { all.withLock { _ = $0.remove(process) } }

  static func killAll() {
    for process in all.withLock({ $0 }) { kill(process, SIGKILL) }
  }
}
