import Glibc

extension PrivateCluster {
  /// Moves the cluster to a newer major version. The old one stays in a folder beside it. The
  /// order: take the lock; read the old cluster; write the newer one; read it, and compare the two;
  /// exchange the folders. Until the last step the old cluster is in its place, unchanged.
  ///
  /// - Returns: the folder of the old cluster.
  public func upgrade(_ request: UpgradeRequest, _ work: UpgradeWork) throws -> String {
    let folders = try upgradeFolders()
    let (home, account) = try open()
    defer { stop() }
    switch folders.state {
    case .switching(let from):
      work.report(.note("an earlier upgrade had ended before the last step, which is done now"))
      try exchange(folders, from: from)
      return folders.kept(from)
    case .reverting(let to, let from):
      try Folder.rename(folders.kept(to), to: folders.data)
      throw ClusterFailure.cannotUpgrade(
        reason: "the way back to PostgreSQL \(to) had been interrupted, and has been completed; "
          + "the newer cluster is in \(folders.reverted(from)). Run it again to upgrade")
    case .writing:
      work.report(
        .note(
          "an earlier upgrade was interrupted; the old cluster is unchanged, and it begins again"))
    case .settled, .missing: break
    }
    // pg_upgrade had started a server on the old cluster, or a gateway was killed.
    _ = try Leftovers.end(on: folders.data)
    try folders.clear()
    let plan = try planUpgrade(request)
    guard plan.freeBytes >= plan.neededBytes else {
      throw ClusterFailure.noSpace(
        path: home, needed: plan.neededBytes, free: plan.freeBytes, remedy: "free some")
    }
    do {
      try write(plan, folders, account, work)
      try Folder.write("\(plan.from)\n", to: folders.new + UpgradeFolders.marker, for: account)
      try Program(path: "sync", arguments: ["--file-system", folders.new])
        .runChecked(seconds: ClusterWriter.secondsMax)
    } catch {
      stopServer()
      let free = try? Folder.freeBytes(home)
      // The next run removes the rest; the failure itself is printed.
      try? folders.clear()
      // pg_upgrade refers to a log, which is removed.
      guard let free, free < Self.fullBytes else { throw error }
      throw ClusterFailure.upgradeWithoutSpace(
        path: home, free: free, needed: plan.neededBytes, cause: "\(error)")
    }
    try exchange(folders, from: plan.from)
    return folders.kept(plan.from)
  }

  /// A disk with less room counts as the reason of a failure.
  private static let fullBytes: Int64 = 16 << 20

  private func write(
    _ plan: UpgradePlan, _ folders: UpgradeFolders, _ account: Account?, _ work: UpgradeWork
  ) throws {
    guard !Folder.exists(folders.kept(plan.from)) else {
      throw ClusterFailure.notEmpty(directory: folders.home, entry: "data.\(plan.from)")
    }
    let writer = ClusterWriter(
      plan: plan, folders: folders, account: account,
      socketFolder: try socketFolder(in: folders.home, for: account), report: work.report)
    try writer.checkReachable()
    work.report(.began("reading the cluster of PostgreSQL \(plan.from)"))
    try launch(plan.old, account, home: folders.home, folder: folders.data)
    try work.prepare(url)
    let before = try work.census(url)
    if plan.method == .dump { try writer.dump(before, at: url) }
    // Clean, as pg_upgrade requires.
    stopServer()
    try writer.create(like: before)
    if plan.method == .pgUpgrade { try writer.runUpgrade() }
    try writer.carrySettings()
    work.report(.began("reading the cluster of PostgreSQL \(plan.to)"))
    try launch(plan.new, account, home: folders.home, folder: folders.new)
    if plan.method == .dump { try writer.load(before, at: url) }
    let differences = before.differences(in: try work.census(url))
    guard differences.isEmpty else {
      throw ClusterFailure.notEqual(Array(differences.prefix(ClusterCensus.differencesMax)))
    }
    try work.settle(url)
    stopServer()
  }

  private func exchange(_ folders: UpgradeFolders, from: Int) throws(ClusterFailure) {
    // First, so that nothing is left to do after the last rename. pg_upgrade's script would delete
    // the cluster in use.
    for path in [folders.dump, folders.home + "/delete_old_cluster.sh"] {
      try Folder.remove(path)
    }
    if Folder.exists(folders.data) { try Folder.rename(folders.data, to: folders.kept(from)) }
    try Folder.rename(folders.new, to: folders.data)
  }
}
