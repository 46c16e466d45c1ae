import Glibc
import Primitives

/// A folder of backups, locked by the backup that is being written to it.
///
///     FOLDER/backup.lock                                    locked while a backup is written
///     FOLDER/chirrup-20261125T021503.042Z                   a complete one, by its start
///     FOLDER/chirrup-20261125T021503.042Z.attachments       the files of its messages, if any
///     FOLDER/attachments.unfinished                         files that the next backup has then
///     FOLDER/chirrup-20261125T031503.107Z.unfinished/data   a copy that is being written
///     FOLDER/chirrup-20261125T031503.107Z.unfinished/trial  the restore that verifies it
///
/// Invariant: a folder with the name of a complete backup is whole, because it gets this name last,
/// after the folder of its files.
public final class BackupFolder {
  private static let prefix = "chirrup-"
  private static let unfinished = ".unfinished"
  private static let attachments = ".attachments"

  let path: String
  /// The user of the database cluster, if this process is root.
  let account: Account?
  private let lock: LockFile

  /// Creates the folder if it is missing, and removes unfinished backups, whose writers have ended.
  public init(_ path: String, of dataDirectory: String) throws(ClusterFailure) {
    try Folder.make(path, mode: 0o700)
    self.path = try Folder.resolve(path)
    let data = dataDirectory + "/postgres/data"
    account = getuid() == 0 ? Folder.owner(of: data).flatMap { $0.user == 0 ? nil : $0 } : nil
    do throws(LockFile.Refusal) {
      lock = try LockFile(self.path + "/backup.lock")
    } catch {
      switch error {
      case .held(let process): throw .backupRunning(folder: path, process: process)
      case .failed(let failure): throw failure
      }
    }
    try takeOver()
    for name in try Folder.names(in: self.path) where BackupFolder.isUnfinished(name) {
      let old = self.path + "/" + name
      // Its trial server ends by itself when the backup is killed, but not at once.
      _ = try Leftovers.end(on: old + "/trial/postgres" + Restoring.folder)
      try Folder.remove(old)
    }
    // The files of a backup that was interrupted before it got its name, or while it was removed.
    for name in try Folder.names(in: self.path) where name.hasSuffix(BackupFolder.attachments) {
      let backup = String(name.dropLast(BackupFolder.attachments.count))
      if BackupFolder.isComplete(backup), !Folder.exists(self.path + "/" + backup) {
        try Folder.remove(self.path + "/" + name)
      }
    }
  }

  /// The folder with the files of a complete backup's messages. It may be missing.
  public static func attachments(ofBackup path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path + attachments
  }

  /// Files of a backup that is not complete are written there first, so that the next backup goes
  /// on with them.
  public var attachmentPool: String { path + "/attachments.unfinished" }

  /// The files of the newest complete backup.
  public func newestAttachments() throws(ClusterFailure) -> String? {
    try complete().last.map { BackupFolder.attachments(ofBackup: path + "/" + $0) }
  }

  /// A folder that was created by root is given to the cluster's user, who writes the backup.
  private func takeOver() throws(ClusterFailure) {
    guard let account else { return }
    let others = try Folder.names(in: path).contains { $0 != "backup.lock" }
    if Folder.owner(of: path)?.user == 0, !others { try Folder.give(path, to: account) }
    guard
      try Program(path: "test", arguments: ["-w", path], account: account).run(seconds: 10)
        .succeeded
    else {
      throw .system(
        operation: "write to", path: path,
        reason: "the database's user (id \(account.user)) may not; name a folder that it can reach")
    }
  }

  /// The names of the complete backups, the oldest first.
  public func complete() throws(ClusterFailure) -> [String] {
    try Folder.names(in: path).filter(BackupFolder.isComplete)
  }

  /// Removes all but the newest complete backups.
  /// - Returns: the names of the removed ones.
  public func keep(_ count: Int) throws(ClusterFailure) -> [String] {
    let old = try complete().dropLast(count)
    for name in old {
      try Folder.remove(path + "/" + name)
      try Folder.remove(BackupFolder.attachments(ofBackup: path + "/" + name))
    }
    return Array(old)
  }

  /// `chirrup-20261125T021503.042Z`
  static func name(at time: WallTime) -> String {
    prefix + time.description.filter { $0 != "-" && $0 != ":" }
  }

  static func isComplete(_ name: String) -> Bool {
    name.wholeMatch(of: /chirrup-\d{8}T\d{6}\.\d{3}Z/) != nil
  }

  static func isUnfinished(_ name: String) -> Bool {
    name.hasSuffix(unfinished) && isComplete(String(name.dropLast(unfinished.count)))
  }

  func unfinishedPath(_ name: String) -> String { path + "/" + name + BackupFolder.unfinished }
}
