/// A server of a comparison while it runs: started, waited for, placed, stopped.
import Foundation
import Kernel
import Primitives

final class ServerProcess {
  /// With its names replaced.
  let plan: ServerPlan
  let process: Int
  private let log: String
  private var child: ChildProcess?

  private static let readyMilliseconds: Int64 = 60_000
  private static let endMilliseconds: Int64 = 30_000

  init(_ plan: ServerPlan, log: String, placement: Placement) throws {
    self.plan = plan
    self.log = log
    if let pid = plan.pid {
      process = pid
    } else {
      var command = Command(plan.command[0], Array(plan.command.dropFirst()))
      command.output = .file(log)
      command.errors = .file(log)
      // Ctrl-C is for `compare`, which then stops its servers.
      command.hasOwnGroup = true
      let child = try ChildProcess.spawn(command)
      process = Int(child.processIdentifier)
      self.child = consume child
    }
    try awaitReady()
    try placement.place(server: process)
  }

  private func awaitReady() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: ServerProcess.readyMilliseconds)
    while SystemClock.now() < limit {
      if let status = try child?.poll() ?? nil {
        throw PlanFailure("it ended with \(status): \(ServerProcess.tail(log))")
      }
      if isReady { return }
      usleep(20_000)
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

  /// How it ended although nobody told it to.
  func unexpectedEnd() -> String? {
    guard let status = try? child?.poll() ?? nil else { return nil }
    return "the server ended with \(status): \(ServerProcess.tail(log))"
  }

  /// SIGTERM, and SIGKILL if that does not help. What runs already is left alone.
  func stop() {
    guard let child = child.take() else { return }
    ServerProcess.end(child, milliseconds: ServerProcess.endMilliseconds)
  }

  static func end(_ child: consuming ChildProcess, milliseconds: Int64) {
    var child = consume child
    try? child.send(.terminate)
    let limit = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while SystemClock.now() < limit {
      if (try? child.poll()) != nil { return }
      usleep(10_000)
    }
    // Dropping it kills it.
  }

  /// The last lines of a log, as one.
  static func tail(_ path: String) -> String {
    let text = FileManager.default.contents(atPath: path) ?? Data()
    let lines = String(decoding: text.suffix(2_000), as: UTF8.self).split(separator: "\n")
    return lines.suffix(4).joined(separator: " | ")
  }
}

/// Whether a server is there.
enum HTTPProbe {
  private static let answerMilliseconds: Int64 = 1_000

  /// A connection opens, and stays so for the moment.
  static func accepts(_ target: Target) -> Bool {
    guard let socket = connect(target) else { return false }
    var buffer = [UInt8](repeating: 0, count: 16)
    if case .wouldBlock = buffer.withMutableRawSpan({ socket.receive(into: &$0) }) { return true }
    return false
  }

  /// GET of the target's path is answered with 200.
  static func answersOK(_ target: Target) -> Bool {
    guard let socket = connect(target) else { return false }
    let request = Array(
      "GET \(target.path) HTTP/1.1\r\nHost: \(target.host)\r\nConnection: close\r\n\r\n".utf8)
    guard case .bytes(request.count) = request.withRawSpan({ socket.send($0) }) else {
      return false
    }
    let wanted = Array("HTTP/1.1 200".utf8)
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1_024)
    let limit = SystemClock.now().advanced(byMilliseconds: answerMilliseconds)
    while SystemClock.now() < limit, answer.count < wanted.count {
      switch buffer.withMutableRawSpan({ socket.receive(into: &$0) }) {
      case .bytes(let count): answer += buffer[..<count]
      case .wouldBlock: usleep(1_000)
      case .endOfStream, .reset, .failed: return false
      }
    }
    return answer.starts(with: wanted)
  }

  private static func connect(_ target: Target) -> FileDescriptor? {
    guard let socket = try? Sockets.connect(to: target.address, port: target.port),
      let epoll = try? Epoll(), (try? epoll.add(socket, .write, datum: 0)) != nil
    else { return nil }
    var events = Events(capacity: 1)
    guard (try? epoll.wait(into: &events, timeoutMilliseconds: Int32(answerMilliseconds))) != nil,
      events.count == 1, !events[0].isHungUp
    else { return nil }
    return socket
  }
}
