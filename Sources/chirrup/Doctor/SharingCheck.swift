/// Whether a second process listens on an address of the gateway (SO_REUSEPORT): the kernel then
/// gives each of them a part of the connections.
import Kernel
import Settings

extension DoctorCheck {
  static let sharing = DoctorCheck(
    name: "sharing", symptom: "every second connection reaches an old version, or another database",
    remedy: "stop the process that should not be there; or set listen_shared: true if both should",
    limitMilliseconds: Listeners.limitMilliseconds
  ) { examination in
    var shared: [String] = []
    for listener in Listeners.all(examination.settings) where listener.kind != .admin {
      let processes = Listeners.processes(of: Listeners.sockets(of: listener.address))
      guard processes.count > 1 else { continue }
      let names = processes.sorted().map { "\($0)" }.joined(separator: " and ")
      shared.append("\(listener.address) is shared by the processes \(names)")
    }
    guard examination.facts.gatewayAnswers else { return .skipped("no gateway runs here") }
    if shared.isEmpty {
      guard examination.facts.process != nil else {
        return .skipped("only root sees the processes of another user")
      }
      return .ok("one process listens on each address")
    }
    let text = shared.joined(separator: "; ")
    return examination.settings.listenShared ? .ok(text) : .failure(text)
  }
}
