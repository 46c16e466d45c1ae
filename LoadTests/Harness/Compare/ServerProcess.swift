/// A running server of a comparison: started, awaited, placed and stopped.
import EmbeddedPostgres
import Foundation
import Kernel
import Primitives

final class ServerProcess {
  /// With its placeholders replaced.
  let plan: ServerPlan
  let process: Int
  /// The first process of its private PostgreSQL.
  var postmaster: Int? { plan.databaseFolder.flatMap(LocalGateway.postmaster) }
  /// The URL of the PostgreSQL that was started for it.
  var databaseURL: String? { database?.url }
  private let log: String
  private let database: PrivateCluster?
  private var child: ChildProcess?

  private static let readyMilliseconds: Int64 = 60_000
  private static let endMilliseconds: Int64 = 30_000
  private static let askMilliseconds: Int64 = 20

  /// - Parameter database: its PostgreSQL, which is stopped after it.
  init(
    _ plan: ServerPlan, database: PrivateCluster?, log: String, placement: Placement, work: WorkPlan
  ) throws {
    self.plan = plan
    self.database = database
    self.log = log
    if let pid = plan.pid {
      process = pid
    } else {
      var command = Command(plan.command[0], Array(plan.command.dropFirst()))
      command.output = .file(log)
      command.errors = .file(log)
      // Ctrl-C must reach only `compare`, which then stops its servers.
      command.hasOwnGroup = true
      let child = try ChildProcess.spawn(command)
      process = Int(child.processIdentifier)
      self.child = consume child
    }
    try awaitReady()
    try placement.place(
      server: process, onAllCores: plan.hasAllCores, postmaster: postmaster, for: work)
  }

  private func awaitReady() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: ServerProcess.readyMilliseconds)
    while SystemClock.now() < limit {
      if isReady { return }
      guard child != nil else {
        // A process that is no child of ours.
        usleep(UInt32(ServerProcess.askMilliseconds * 1000))
        continue
      }
      if let status = try child?.wait(milliseconds: ServerProcess.askMilliseconds) ?? nil {
        throw PlanFailure("it ended with \(status): \(ServerProcess.tail(log))")
      }
    }
    throw PlanFailure(
      "it does not answer after \(ServerProcess.readyMilliseconds / 1000) s: "
        + ServerProcess.tail(log))
  }

  private var isReady: Bool {
    if let ready = plan.ready, let target = Target("ws" + ready.dropFirst(4)) {
      return HTTPProbe.answersOK(target)
    }
    guard let address = plan.echo ?? plan.subscribe ?? plan.chat, let target = Target(address)
    else { return true }
    return HTTPProbe.accepts(target)
  }

  /// The exit of a server that nobody stopped.
  func unexpectedEnd() -> String? {
    guard let status = try? child?.poll() ?? nil else { return nil }
    return "the server ended with \(status): \(ServerProcess.tail(log))"
  }

  /// Sends SIGTERM, and SIGKILL after the timeout. A server that was running before is not stopped.
  func stop() {
    if let child = child.take() {
      ServerProcess.end(child, milliseconds: ServerProcess.endMilliseconds)
    }
    database?.stop()
  }

  static func end(_ child: consuming ChildProcess, milliseconds: Int64) {
    var child = consume child
    try? child.send(.terminate)
    // Releasing the child kills it if it is still running.
    _ = try? child.wait(milliseconds: milliseconds)
  }

  /// The last lines of a log, joined.
  static func tail(_ path: String) -> String {
    let text = FileManager.default.contents(atPath: path) ?? Data()
    let lines = String(decoding: text.suffix(2_000), as: UTF8.self).split(separator: "\n")
    return lines.suffix(4).joined(separator: " | ")
  }
}
