/// Whether the addresses of the settings are the gateway's, free, or somebody else's.
import Kernel
import Primitives
import Settings

extension DoctorCheck {
  static let listeners = DoctorCheck(
    name: "listeners", symptom: "the gateway does not start: an address is in use",
    remedy: "stop the other program, or set listen, tls.listen or admin_listen to another port",
    limitMilliseconds: Listeners.limitMilliseconds, isFoundation: true
  ) { examination in
    var lines: [String] = []
    var faults: [String] = []
    for listener in Listeners.all(examination.settings) {
      let found = Listeners.examine(listener, examination.settings)
      switch found {
      case .gateway(let process):
        lines.append(
          "\(listener.address) is a gateway's" + (process.map { " (process \($0))" } ?? ""))
        guard listener.kind != .admin else { continue }
        examination.note {
          $0.gatewayAnswers = true
          $0.process = process ?? $0.process
        }
      case .free: lines.append("\(listener.address) is free")
      case .other(let holder):
        faults.append(
          "\(listener.address) belongs to \(holder), which does not answer as a gateway")
      case .unusable(let reason): faults.append("\(listener.address) cannot be used: \(reason)")
      }
    }
    return faults.isEmpty
      ? .ok(lines.joined(separator: "; ")) : .failure((faults + lines).joined(separator: "; "))
  }
}

enum Listeners {
  enum Kind { case plain, secure, admin }

  struct Listener {
    var address: ListenAddress
    var kind: Kind
    /// The address for a connection from this machine.
    var url: String {
      var reachable = address
      if address.host == "0.0.0.0" { reachable.host = "127.0.0.1" }
      if address.host == "::" { reachable.host = "::1" }
      return "\(kind == .secure ? "https" : "http")://\(reachable)"
    }
  }

  enum Finding {
    /// With its process, if this user may see it.
    case gateway(Int32?)
    case free
    case other(String)
    case unusable(String)
  }

  /// Every descriptor of every process is read: many thousands on a busy machine.
  static let limitMilliseconds: Int64 = 60_000
  private static let answerMilliseconds = 2_000

  /// Without ports that the kernel chooses at the start.
  static func all(_ settings: Settings) -> [Listener] {
    let all =
      settings.listen.map { Listener(address: $0, kind: .plain) }
      + settings.tls.listen.map { Listener(address: $0, kind: .secure) }
      + settings.adminListen.map { Listener(address: $0, kind: .admin) }
    return all.filter { $0.address.port != 0 }
  }

  static func sockets(of address: ListenAddress) -> [ListeningSocket] {
    guard let ip = IPAddress(address.host == "localhost" ? "127.0.0.1" : address.host) else {
      return []
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].compactMap(kernelText)
    return tables.flatMap(ListeningSocket.parse).filter { $0.accepts(ip, port: address.port) }
  }

  static func processes(of sockets: [ListeningSocket]) -> Set<Int32> {
    ListeningSocket.owners(of: Set(sockets.map(\.inode))).values
      .reduce(into: []) { $0.formUnion($1) }
  }

  /// Whether connections from this machine must begin with a PROXY header, which only the proxy
  /// sends: such a listener is recognised by the name of its process.
  static func expectsProxyHeader(_ settings: Settings) -> Bool {
    settings.proxyProtocol
      && settings.trustedProxies.contains { AddressRange($0)?.contains(.loopback) == true }
  }

  static func examine(_ listener: Listener, _ settings: Settings) -> Finding {
    let sockets = sockets(of: listener.address)
    guard let first = sockets.first else { return bindable(listener.address) }
    let process = processes(of: sockets).min()
    if listener.kind != .admin, expectsProxyHeader(settings) {
      let name = process.flatMap { kernelText("/proc/\($0)/comm") }
      return name == "chirrup" ? .gateway(process) : .other(holder(process, user: first.user))
    }
    let response = try? HTTPAnswer.get(
      listener.url + "/healthz", milliseconds: answerMilliseconds, verifies: false)
    if response?.status == 200, response?.body == "ok\n" { return .gateway(process) }
    return .other(holder(process, user: first.user))
  }

  private static func holder(_ process: Int32?, user: UInt32) -> String {
    guard let process else { return "a process of the user with the id \(user)" }
    let name = kernelText("/proc/\(process)/comm").map { " (\($0))" } ?? ""
    return "process \(process)\(name)"
  }

  /// Opens a listener for a moment: ports below 1024 and addresses of other machines fail only
  /// then.
  private static func bindable(_ address: ListenAddress) -> Finding {
    let host = address.host == "localhost" ? "127.0.0.1" : address.host
    guard let ip = IPAddress(host) else { return .unusable("it is not an IP address") }
    do throws(Errno) {
      _ = try Sockets.listen(on: ip, port: address.port, backlog: 1)
      return .free
    } catch {
      return .unusable("\(error)")
    }
  }
}
