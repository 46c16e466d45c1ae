/// The settings that a loop uses and that may change while it runs. Each loop keeps the rules that
/// it took over last, so a request reads them without a lock; new ones come by mail, between two
/// turns.
import Engine
import Primitives
import Settings

final class LoopRules: Sendable {
  let proxies: Proxies
  let hosts: Hosts
  /// Without the lists of the workspaces.
  let origins: Origins
  /// The value of Strict-Transport-Security; nil if the settings turn it off.
  let transportSecurity: String?
  let quotas: SharedQuotas
  /// Connections that one loop may hold. `Admission` limits the connections of all loops; one loop
  /// may hold any share of them, and besides those that are moving from another loop.
  let connectionsMax: Int
  let databaseURL: String
  /// Whether each request is a line of the log.
  let logsAccess: Bool

  init(_ settings: Settings, databaseURL: String, quotas: SharedQuotas) {
    proxies = Proxies(settings)
    hosts = Hosts(settings)
    origins = Origins(settings)
    let seconds = settings.tls.hstsSeconds
    transportSecurity = seconds == 0 ? nil : "max-age=\(seconds)"
    self.quotas = quotas
    connectionsMax = 2 * settings.limits.connections
    self.databaseURL = databaseURL
    logsAccess = settings.log.access
  }
}

extension LoopRules {
  /// Gives changed settings to the components of a loop. Open connections stay; those to the
  /// database are replaced when they are idle.
  func apply(to loop: inout EventLoop) {
    loop.acceptor.use(self)
    loop.http.use(self)
    loop.engine.quotas = quotas
    loop.sockets.raise(limit: connectionsMax + Admission.adminSocketsMax)
    loop.engine.connections.raise(limit: connectionsMax)
    loop.store.use(url: databaseURL, now: loop.turn.now)
  }
}
