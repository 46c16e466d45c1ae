/// The servers of a storm: a running gateway, a proxy before it, or a private gateway.
import Foundation
import Kernel
import Primitives

final class StormServers {
  /// The URL of the private PostgreSQL.
  private(set) var databaseURL: String?
  private let options: Storm
  private var proxy: FaultProxy?
  private var own: (database: TortureDatabase, gateway: TortureGateway, folder: String)?

  init(_ options: Storm) throws {
    self.options = options
    // Before any thread starts, because signals are read from a descriptor.
    _ = try SignalDescriptor([.interrupt, .terminate])
    switch options.how {
    case .reset: break
    case .cut:
      let target = try options.gateway.target()
      guard target.address == .loopback else {
        throw WorkerFailure(description: "--how cut needs a gateway at 127.0.0.1")
      }
      proxy = try FaultProxy(
        "storm proxy", listeners: [.init(endpoint: .tcp(0))], target: .tcp(target.port), seed: 1)
    case .kill: try startOwn()
    }
  }

  private func startOwn() throws {
    let folder = "/tmp/chirrup-storm-\(String(Random.uint64(), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o711])
    let database = try TortureDatabase(directory: folder)
    let port = try Sockets.listen(on: .loopback, port: 0).localPort()
    let gateway = TortureGateway(
      binary: options.credentials.chirrup ?? "chirrup", port: port, log: folder + "/gateway.log")
    own = (database, gateway, folder)
    databaseURL = database.url
    try gateway.start(databaseURL: database.url)
    try gateway.awaitReady()
  }

  func target() throws -> Target {
    if let proxy { return try address(proxy.ports[0]) }
    return try steadyTarget()
  }

  /// The gateway's address without the proxy.
  func steadyTarget() throws -> Target {
    if let own { return try address(own.gateway.port) }
    return try options.gateway.target()
  }

  private func address(_ port: UInt16) throws -> Target {
    guard let target = Target("ws://127.0.0.1:\(port)") else {
      throw WorkerFailure(description: "no port")
    }
    return target
  }

  func cutOff(_ how: Storm.How) throws {
    switch how {
    case .reset: break
    case .cut: proxy?.control.order(ProxyOrder(fault: .cut, share: 1))
    case .kill:
      try own?.gateway.kill()
      try own?.gateway.start(databaseURL: databaseURL ?? "")
    }
  }

  private var process: Int? {
    own?.gateway.process.map { Int($0) } ?? options.gateway.process(options.credentials)
  }

  func recorder(_ shared: RunState, _ target: Target) -> Recorder {
    Recorder(intervals: shared.intervals, gateway: { [self] in process }, target: target)
  }

  func processorNanoseconds() -> Int64? {
    process.flatMap { ProcessorTime.nanoseconds(of: $0) }
  }

  func close() {
    proxy?.stop()
    proxy = nil
    guard let stage = own else { return }
    own = nil
    _ = try? stage.gateway.drain()
    stage.database.stop()
    try? FileManager.default.removeItem(atPath: stage.folder)
  }
}
