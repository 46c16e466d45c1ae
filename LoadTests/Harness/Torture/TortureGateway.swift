/// The gateway of a torture: killed, drained and restarted on the same port.
import Foundation
import Kernel
import Primitives

final class TortureGateway {
  let port: UInt16
  private let binary: String
  private let log: String
  private var child: ChildProcess?
  private(set) var starts = 0

  static let drainSeconds = 2
  private static let endMilliseconds: Int64 = 60_000
  private static let readyMilliseconds: Int64 = 60_000
  private static let askMilliseconds: Int64 = 20

  init(binary: String, port: UInt16, log: String) {
    self.binary = binary
    self.port = port
    self.log = log
  }

  func start(databaseURL: String) throws(Errno) {
    var command = Command(
      binary,
      [
        "serve", "--demo", "--listen", "127.0.0.1:\(port)", "--database-url", databaseURL,
        "--drain-seconds", String(TortureGateway.drainSeconds), "--loops", "2",
      ])
    // Also deflates short messages, for clients that negotiated it.
    let environment = ProcessInfo.processInfo.environment
      .filter { !$0.key.hasPrefix("CHIRRUP_") && $0.key != "DATABASE_URL" }
    command.environment =
      environment.map { "\($0.key)=\($0.value)" }
      + [
        "CHIRRUP_COMPRESSION_THRESHOLD_BYTES=64", "CHIRRUP_ADMIN_LISTEN=listen",
        "CHIRRUP_DEMO_CONTENT=false",
      ]
    command.output = .file(log)
    command.errors = .file(log)
    command.hasOwnGroup = true
    child = try ChildProcess.spawn(command)
    starts += 1
  }

  var process: Int32? { child?.processIdentifier }

  /// The exit of a gateway that nobody stopped.
  func unexpectedEnd() throws(Errno) -> ChildProcess.ExitStatus? { try child?.poll() ?? nil }

  func kill() throws(Errno) {
    guard var child = child.take() else { return }
    try child.send(.kill)
    _ = try child.wait()
  }

  /// Sends SIGTERM; nil when the gateway did not end in time and was killed.
  func drain() throws(Errno) -> ChildProcess.ExitStatus? {
    guard var child = child.take() else { return nil }
    try child.send(.terminate)
    if let status = try child.wait(milliseconds: TortureGateway.endMilliseconds) { return status }
    try child.send(.kill)
    _ = try child.wait()
    return nil
  }

  /// Waits until /readyz answers 200.
  func awaitReady() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: TortureGateway.readyMilliseconds)
    while SystemClock.now() < limit {
      if isReady() { return }
      if let status = try child?.wait(milliseconds: TortureGateway.askMilliseconds) ?? nil {
        throw TortureFailure.gateway("ended with \(status), see \(log)")
      }
    }
    throw TortureFailure.gateway("is not ready after \(TortureGateway.readyMilliseconds) ms")
  }

  private func isReady() -> Bool {
    Target("ws://127.0.0.1:\(port)/readyz").map { HTTPProbe.answersOK($0) } ?? false
  }

  /// The number of open descriptors, and the anonymous memory.
  func sample() -> (descriptors: Int, anonymousBytes: Int)? {
    guard let process, let memory = ProcessSample(process: Int(process)),
      let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
    else { return nil }
    return (open.count, memory.anonymousBytes)
  }
}
