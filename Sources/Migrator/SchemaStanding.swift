import SharedSQL

/// How the schema of a database stands to what a gateway of this binary needs.
public enum SchemaStanding: Sendable, Equatable {
  case current
  case pending([Migration])
  /// A newer chirrup has applied these migrations, and each one says that gateways of this release
  /// can run on it. They only read and write: what only the newer release may do is left to it.
  case ahead([String])
}

extension MigrationPlan {
  /// Throws if gateways of this binary cannot run on the schema, even if they migrate it.
  public func standing() throws(MigrationFailure) -> SchemaStanding {
    let newer = self.newer
    guard !newer.isEmpty else {
      let pending = try upward()
      return pending.isEmpty ? .current : .pending(pending)
    }
    if !strays.isEmpty { throw .strayRevisions(strays) }
    if let obstacle = obstacle(to: newer) {
      throw .newerDatabase(unknown: newer, obstacle: obstacle)
    }
    return .ahead(newer)
  }

  /// Why gateways of this binary cannot run on a schema with these newer migrations.
  private func obstacle(to newer: [String]) -> String? {
    if let missing = pending.first {
      return "\(missing) of this chirrup is not applied"
    }
    for revision in newer {
      let row = lines.first { $0.revision == revision }?.applied
      guard let compatible = row?.compatible else {
        return "\(revision) does not say that gateways of an older release can run on it"
      }
      // A migration that this binary does not know is newer than its last one.
      guard state(of: compatible) != .unknown, state(of: compatible) != nil else {
        return "\(revision) needs gateways that know \(compatible)"
      }
    }
    return nil
  }
}

extension Chain {
  /// Throws if one of the gateways that run needs what one of these migrations takes away.
  func checkContracts(
    in contracts: [Migration], beside running: [GatewayProcess]
  ) throws(MigrationFailure) {
    for contract in contracts {
      let order = migrations.map(\.revision)
      let oldest = contract.compatible.flatMap { order.firstIndex(of: $0) } ?? order.count
      let older = running.filter { (order.firstIndex(of: $0.traits.schema) ?? -1) < oldest }
      guard older.isEmpty else {
        throw .olderGatewaysRun(revision: contract.revision, older)
      }
    }
  }
}
