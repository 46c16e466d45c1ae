import Logging
import Primitives
import SharedSQL

/// Notices gateways on the same database that differ from this one, each once while it runs.
struct UnlikePeers {
  struct Peer: Equatable {
    var process: GatewayProcess
    var differences: [String]
    /// Logins, webhooks and identities of the one fail at the other.
    var hasOtherKeys: Bool
  }

  private var known: Set<Identifier> = []

  /// - Parameter others: all other gateways that run.
  /// - Returns: those that differ and were not among them before.
  mutating func take(_ others: [GatewayProcess], beside own: GatewayTraits) -> [Peer] {
    let unlike = others.filter { !own.differences(of: $0.traits).isEmpty }
    defer { known = Set(unlike.map(\.id)) }
    return unlike.filter { !known.contains($0.id) }.map {
      Peer(
        process: $0, differences: own.differences(of: $0.traits),
        hasOtherKeys: own.hasKeys(unlike: $0.traits))
    }
  }
}

extension UnlikePeers.Peer {
  /// Two versions beside each other are usual during an upgrade; two keys never are.
  func log(to logger: Logger) {
    let remedy = hasOtherKeys ? "; set the same credentials_key for every gateway" : ""
    logger.log(
      level: hasOtherKeys ? .error : .warning,
      "another gateway on this database differs: \(differences.joined(separator: ", "))\(remedy)",
      metadata: ["gateway": "\(process)"])
  }
}
