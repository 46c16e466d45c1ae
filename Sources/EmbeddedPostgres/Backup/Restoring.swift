/// Restores a backup into an empty data directory. The cluster has another name there until
/// everything has been checked, and no gateway starts on it (`ClusterFailure.unfinishedRestore`).
enum Restoring {
  /// In the folder `postgres`, beside `data`.
  static let folder = "/data.restored"
  /// The entries of a directory that counts as empty: those of a restore that was interrupted.
  static let directoryEntries: Set = ["gateway.lock", "postgres", "postgres.log"]
  static let homeEntries: Set = ["data.restored", "run"]
  /// Copying and verifying may take as long as a backup.
  static let secondsMax = 86_400
  /// Archiving is off: the archive that the backup's configuration names belongs to the old server.
  static let options = ["-c", "archive_mode=off"]
}

/// The step of a restore that its progress shows. It gives a number only of what it measures.
public enum RestoreEvent: Sendable, Equatable {
  /// About every two seconds.
  case copying(bytes: Int64, of: Int64)
  case verifying(bytes: Int64)
  case recovering
}

extension PrivateCluster {
  /// Restores a backup, and calls `body` with the URL of the running server before the cluster gets
  /// its name. Starts nothing that stays.
  ///
  /// - Parameter entry: a name in the directory that an interrupted restore may have left there.
  public func restore<Result>(
    _ backup: String, besides entry: String? = nil,
    report: (RestoreEvent) -> Void = { _ in }, _ body: (String) throws -> Result
  ) throws -> Result {
    defer { stop() }
    let result = try restoring(backup, besides: entry, report: report, body)
    stop()
    let home = try Folder.resolve(directory + "/postgres")
    try Folder.rename(home + Restoring.folder, to: home + "/data")
    return result
  }

  /// Copies a backup, verifies the copy, and starts a server on it. After a failure it removes the
  /// copy.
  func restoring<Result>(
    _ backup: String, besides entry: String? = nil,
    report: (RestoreEvent) -> Void = { _ in }, _ body: (String) throws -> Result
  ) throws -> Result {
    try PrivateCluster.checkComplete(backup)
    let binaries = try PrivateCluster.binaries(ofBackup: backup)
    try checkEmpty(besides: entry)
    let (home, account) = try open()
    let data = home + Restoring.folder
    // A server of an interrupted restore may still be ending.
    _ = try Leftovers.end(on: data)
    try Folder.remove(data)
    do {
      let bytes = try copy(backup, to: data, in: home, account, report)
      report(.verifying(bytes: bytes))
      try verify(data, copiedFrom: backup, binaries, account)
      report(.recovering)
      try launch(binaries, account, home: home, folder: data, options: Restoring.options)
      return try body(url)
    } catch {
      stop()
      // No gateway starts on a copy that cannot be removed.
      try? Folder.remove(data)
      throw error
    }
  }

  /// - Returns: the bytes of the backup.
  private func copy(
    _ backup: String, to data: String, in home: String, _ account: Account?,
    _ report: (RestoreEvent) -> Void
  ) throws(ClusterFailure) -> Int64 {
    let bytes = try Folder.bytes(of: backup)
    let needed = bytes + BaseBackup.reserveBytes
    let free = try Folder.freeBytes(home)
    guard free >= needed else {
      throw .noSpace(
        path: home, needed: needed, free: free, remedy: "free some, or name another folder")
    }
    var watch = FolderWatch(data)
    try Program(
      path: "cp",
      arguments: ["--archive", "--reflink=auto", "--no-target-directory", "--", backup, data]
    ).runChecked(seconds: Restoring.secondsMax) {
      if let done = watch.bytes() { report(.copying(bytes: done, of: bytes)) }
    }
    guard let account else { return bytes }
    try Program(
      path: "chown",
      arguments: [
        "--recursive", "--no-dereference", "\(account.user):\(account.group)", "--", data,
      ]
    ).runChecked(seconds: Restoring.secondsMax)
    return bytes
  }

  /// Compares every file with the backup's manifest.
  private func verify(
    _ data: String, copiedFrom backup: String, _ binaries: ServerBinaries, _ account: Account?
  ) throws(ClusterFailure) {
    let program = Program(
      path: binaries.folder + "/pg_verifybackup", arguments: ["--quiet", data], account: account)
    let ended = try program.run(seconds: Restoring.secondsMax)
    guard !ended.succeeded else { return }
    let reason =
      ended.output.split(separator: "\n").first.map(String.init) ?? "pg_verifybackup failed"
    throw .notABackup(path: backup, reason: reason.replacing(data, with: backup))
  }

  /// Throws if the directory has anything that no interrupted restore has left there.
  private func checkEmpty(besides entry: String?) throws(ClusterFailure) {
    guard Folder.exists(directory) else { return }
    for (folder, allowed) in [
      ("", Restoring.directoryEntries.union(entry.map { [$0] } ?? [])),
      ("postgres/", Restoring.homeEntries),
    ] where Folder.exists(directory + "/" + folder) {
      let names = try Folder.names(in: directory + "/" + folder)
      if let other = names.first(where: { !allowed.contains($0) }) {
        throw .notEmpty(directory: directory, entry: folder + other)
      }
    }
  }

  private static func checkComplete(_ backup: String) throws(ClusterFailure) {
    guard Folder.exists(backup) else {
      throw .notABackup(path: backup, reason: "it does not exist")
    }
    guard Folder.exists(backup + "/backup_manifest") else {
      throw .notABackup(
        path: backup,
        reason: "it has no backup_manifest, which is written last; name a folder that chirrup "
          + "backup has completed")
    }
  }

  /// The programs of a data directory's major version.
  static func binaries(ofBackup data: String) throws(ClusterFailure) -> ServerBinaries {
    let version = Folder.read(data + "/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) }
    guard let version else {
      throw .notABackup(path: data, reason: "it has no file PG_VERSION that this user may read")
    }
    return try ServerBinaries.find(version: version)
  }
}
