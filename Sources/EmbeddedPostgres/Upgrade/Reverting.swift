import Glibc

/// What the way back from an upgrade does.
public struct ReversionPlan: Sendable, Equatable {
  public var from: Int
  public var to: Int
  /// An upgrade was interrupted: its files are removed, and the old cluster is in use.
  public var isUndo: Bool
}

extension PrivateCluster {
  /// Where the way back leads. Changes nothing.
  public func planReversion() throws(ClusterFailure) -> ReversionPlan {
    let folders = try upgradeFolders()
    switch folders.state {
    case .missing: throw .noCluster(directory: directory)
    case .writing:
      let version = UpgradeFolders.version(of: folders.data) ?? 0
      return ReversionPlan(
        from: UpgradeFolders.version(of: folders.new) ?? 0, to: version, isUndo: true)
    case .switching(let from):
      return ReversionPlan(
        from: UpgradeFolders.version(of: folders.new) ?? 0, to: from, isUndo: true)
    case .reverting(let to, let from): return ReversionPlan(from: from, to: to, isUndo: false)
    case .settled:
      guard let version = UpgradeFolders.version(of: folders.data),
        let origin = UpgradeFolders.origin(of: folders.data)
      else { throw .noWayBack(reason: "chirrup cluster upgrade has not moved this cluster") }
      guard Folder.exists(folders.kept(origin)) else {
        throw .noWayBack(reason: "\(folders.kept(origin)) does not exist any more")
      }
      guard !Folder.exists(folders.reverted(version)) else {
        throw .notEmpty(directory: folders.home, entry: "data.\(version).reverted")
      }
      return ReversionPlan(from: version, to: origin, isUndo: false)
    }
  }

  /// Takes the way back. After an upgrade that was completed, `renew` is called with the URL of the
  /// old cluster, whose clients may have seen messages that it does not have.
  ///
  /// - Returns: the folder of the newer cluster; nil if it never was in use.
  public func revert(from binaries: String?, renew: (String) throws -> Void) throws -> String? {
    let folders = try upgradeFolders()
    let (home, account) = try open()
    defer { stop() }
    let plan = try planReversion()
    switch folders.state {
    case .missing: return nil
    case .writing:
      _ = try Leftovers.end(on: folders.data)
      try folders.clear()
      return nil
    case .switching(let from):
      try Folder.rename(folders.kept(from), to: folders.data)
      try folders.clear()
      return nil
    case .reverting: break
    case .settled:
      _ = try Leftovers.end(on: folders.data)
      let old = folders.kept(plan.to)
      _ = try Leftovers.end(on: old)
      let server = try ServerBinaries.of(version: plan.to, in: binaries)
      try launch(server, account, home: home, folder: old)
      try renew(url)
      stopServer()
      try Folder.rename(folders.data, to: folders.reverted(plan.from))
    }
    try Folder.rename(folders.kept(plan.to), to: folders.data)
    return folders.reverted(plan.from)
  }
}
