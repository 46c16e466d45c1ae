/// The folders of a cluster that is moved to a newer major version, in the folder `postgres`:
///
///     data               the cluster in use
///     data.upgrade       the newer one, until it has been compared with the old one
///     upgrade.dump       what is loaded into it, without pg_upgrade
///     data.15            the old one afterwards: the way back
///     data.18.reverted   the newer one after the way back was taken
///
/// Invariant: `data` is renamed only after `data.upgrade` has been compared and is on the disk. So
/// whatever takes the place of a missing `data` is complete.
struct UpgradeFolders {
  enum State: Equatable {
    /// There is no cluster.
    case missing
    case settled
    /// Ended while the newer cluster was written. The old one is unchanged.
    case writing
    /// Ended between the two renames of an upgrade from this version.
    case switching(from: Int)
    /// Ended between the two renames of the way back to this version.
    case reverting(to: Int, from: Int)
  }

  /// In a cluster that was upgraded: the version before.
  static let marker = "/chirrup_upgraded_from"

  let home: String

  var data: String { home + "/data" }
  var new: String { home + "/data.upgrade" }
  var dump: String { home + "/upgrade.dump" }
  func kept(_ version: Int) -> String { "\(data).\(version)" }
  func reverted(_ version: Int) -> String { "\(data).\(version).reverted" }

  var state: State {
    if Folder.exists(data) {
      return Folder.exists(new) || Folder.exists(dump) ? .writing : .settled
    }
    if let from = Self.origin(of: new), Folder.exists(kept(from)) { return .switching(from: from) }
    for name in Folder.children(of: home) {
      guard let match = name.wholeMatch(of: /data\.(\d+)\.reverted/), let version = Int(match.1),
        let origin = Self.origin(of: reverted(version)), Folder.exists(kept(origin))
      else { continue }
      return .reverting(to: origin, from: version)
    }
    return .missing
  }

  /// The major version of a cluster.
  static func version(of data: String) -> Int? {
    Folder.read(data + "/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) }
  }

  /// The version from which a cluster was upgraded.
  static func origin(of data: String) -> Int? {
    Folder.read(data + marker).flatMap { Int($0.prefix { $0.isNumber }) }
  }

  /// Removes what an upgrade that was ended has left beside the old cluster.
  func clear() throws(ClusterFailure) {
    // A server of the upgrade may still be ending.
    if Folder.exists(new) { _ = try Leftovers.end(on: new) }
    for path in [new, dump, home + "/delete_old_cluster.sh"] { try Folder.remove(path) }
  }
}
