import Glibc

extension PrivateCluster {
  /// What an upgrade would do. Changes nothing, and takes no lock.
  public func planUpgrade(_ request: UpgradeRequest) throws(ClusterFailure) -> UpgradePlan {
    let folders = try upgradeFolders()
    guard let version = UpgradeFolders.version(of: folders.data) else {
      throw .noCluster(directory: directory)
    }
    let old = try ServerBinaries.of(version: version, in: request.from)
    let new = try ServerBinaries.of(version: nil, in: request.to)
    guard new.version > version else {
      throw .noNewerServer(data: version, newest: new.version)
    }
    if let first = Folder.children(of: folders.data + "/pg_tblspc").first {
      throw .cannotUpgrade(
        reason: "the cluster has a tablespace (\(first)) outside of its folder; move its tables "
          + "back with ALTER TABLE … SET TABLESPACE pg_default, and drop it")
    }
    let method = request.method ?? Self.method(from: old, to: new)
    var clients = new.folder
    switch method {
    case .pgUpgrade:
      try Self.check(old.folder, has: ServerBinaries.ofOldForUpgrade, for: method)
      try Self.check(new.folder, has: ServerBinaries.ofNewForUpgrade, for: method)
    case .dump:
      if !ServerBinaries.forDump.allSatisfy({ Folder.isExecutable(new.folder + "/" + $0) }) {
        clients = old.folder
      }
      try Self.check(clients, has: ServerBinaries.forDump, for: method)
    }
    let bytes = try Folder.bytesInUse(of: folders.data)
    let found = try? ServerBinaries.find(version: new.version)
    return UpgradePlan(
      from: version, to: new.version, method: method, bytes: bytes,
      neededBytes: Self.space(bytes: bytes, method), freeBytes: try Folder.freeBytes(folders.home),
      hiddenFolder: found == nil ? new.folder : nil, old: old, new: new, clients: clients)
  }

  /// A copy of the cluster, and with a dump the files that are loaded, which are smaller than the
  /// cluster: they have no indexes and no free space.
  static func space(bytes: Int64, _ method: UpgradeRequest.Method) -> Int64 {
    bytes * (method == .dump ? 2 : 1) + BaseBackup.reserveBytes
  }

  func upgradeFolders() throws(ClusterFailure) -> UpgradeFolders {
    guard Folder.exists(directory + "/postgres") else { throw .noCluster(directory: directory) }
    return UpgradeFolders(home: try Folder.resolve(directory + "/postgres"))
  }

  private static func method(
    from old: ServerBinaries, to new: ServerBinaries
  ) -> UpgradeRequest.Method {
    let lacks =
      ServerBinaries.ofOldForUpgrade.contains { !Folder.isExecutable(old.folder + "/" + $0) }
      || ServerBinaries.ofNewForUpgrade.contains { !Folder.isExecutable(new.folder + "/" + $0) }
    return lacks ? .dump : .pgUpgrade
  }

  private static func check(
    _ folder: String, has programs: [String], for method: UpgradeRequest.Method
  ) throws(ClusterFailure) {
    let missing = programs.filter { !Folder.isExecutable(folder + "/" + $0) }
    guard !missing.isEmpty else { return }
    throw .cannotUpgrade(
      reason: "\(folder) lacks \(missing.joined(separator: ", ")), which the method "
        + "\(method.rawValue) needs; install the complete PostgreSQL (server and client programs)")
  }
}

extension ServerBinaries {
  static let ofOldForUpgrade = ["postgres", "pg_ctl", "pg_controldata", "pg_resetwal"]
  static let ofNewForUpgrade =
    ofOldForUpgrade + [
      "initdb", "pg_upgrade", "pg_dump", "pg_dumpall", "pg_restore", "psql", "vacuumdb",
    ]
  static let forDump = ["pg_dump", "pg_dumpall", "pg_restore", "psql"]
}
