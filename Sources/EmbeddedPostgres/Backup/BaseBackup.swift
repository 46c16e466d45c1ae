/// A base backup of the private PostgreSQL while the gateway runs: pg_basebackup copies the files
/// of the cluster, and the WAL that is written meanwhile, so that a restore recovers everything
/// that was committed before the copy ended (PostgreSQL manual, “Continuous Archiving”).
///
/// The backup is a data directory with its manifest. It is verified before it gets its name: it is
/// restored into a folder beside it, every file is compared with the manifest, and a server
/// recovers it.
import Glibc
public import Primitives

public struct BaseBackup {
  /// A backup that takes longer is ended.
  private static let secondsMax = 86_400
  /// Space for WAL and temporary files, besides the databases.
  static let reserveBytes: Int64 = 128 << 20

  public let name: String
  /// The backup's connection has this name in `pg_stat_activity`.
  public let applicationName: String
  private let folder: BackupFolder
  private let unfinished: String

  public init(in folder: BackupFolder, at time: WallTime) {
    self.folder = folder
    name = BackupFolder.name(at: time)
    applicationName = "chirrup backup \(getpid())"
    unfinished = folder.unfinishedPath(name)
  }

  public var path: String { folder.path + "/" + name }

  /// The files of messages belong there until `complete`.
  public var attachments: String { unfinished + "/attachments" }

  /// Throws unless the folder has room for a backup of so many bytes, for its trial, and for the
  /// files of messages.
  public func checkSpace(
    bytes: Int64, attachments: Int64 = 0, isVerified: Bool
  ) throws(ClusterFailure) {
    let needed = BaseBackup.space(bytes: bytes, isVerified: isVerified) + attachments
    let free = try Folder.freeBytes(folder.path)
    guard free >= needed else {
      throw .noSpace(
        path: folder.path, needed: needed, free: free,
        remedy: "free some, or name another folder"
          + (isVerified ? "; with --no-verify a backup needs half of it" : ""))
    }
  }

  static func space(bytes: Int64, isVerified: Bool) -> Int64 {
    (bytes + reserveBytes) * (isVerified ? 2 : 1)
  }

  /// Copies the running cluster.
  ///
  /// - Parameters:
  ///   - rate: MiB per second at most; nil: as fast as the disk.
  ///   - meanwhile: called every 250 ms.
  /// - Returns: the backup's bytes.
  public func copy(
    of dataDirectory: String, rate: Int?, meanwhile: () -> Void
  ) throws(ClusterFailure) -> Int64 {
    let binaries = try PrivateCluster.binaries(ofBackup: dataDirectory + "/postgres/data")
    let url =
      try PrivateCluster.attach(dataDirectory: dataDirectory) + "&application_name="
      + applicationName.percentEncoded(allowing: "")
    try Folder.make(unfinished, mode: 0o700)
    try Folder.give(unfinished, to: folder.account)
    try Program(
      path: binaries.folder + "/pg_basebackup",
      arguments: [
        "--dbname", url, "--pgdata", unfinished + "/data", "--format=plain",
        "--wal-method=stream", "--checkpoint=fast", "--no-password",
      ] + (rate.map { ["--max-rate=\($0)M"] } ?? []), account: folder.account
    ).runChecked(seconds: BaseBackup.secondsMax, meanwhile: meanwhile)
    return try Folder.bytes(of: unfinished + "/data")
  }

  /// Restores the copy into a folder beside it, and calls `body` with the URL of a server there.
  public func verify<Result>(
    report: (RestoreEvent) -> Void = { _ in }, _ body: (String) throws -> Result
  ) throws -> Result {
    let trial = unfinished + "/trial"
    let cluster = PrivateCluster(dataDirectory: trial, survivesPowerLoss: false)
    defer { cluster.stop() }
    return try cluster.restoring(unfinished + "/data", report: report, body)
  }

  /// Gives the backup its name, after which it is complete.
  public func complete() throws(ClusterFailure) {
    if Folder.exists(attachments) {
      try Folder.rename(attachments, to: BackupFolder.attachments(ofBackup: path))
    }
    try Folder.rename(unfinished + "/data", to: path)
    try Folder.remove(unfinished)
    try Folder.remove(folder.attachmentPool)
  }

  /// Removes the files written so far.
  public func abandon() throws(ClusterFailure) { try Folder.remove(unfinished) }
}
