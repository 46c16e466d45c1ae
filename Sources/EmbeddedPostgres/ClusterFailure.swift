/// The error of the private PostgreSQL. The description is for the administrator.
public enum ClusterFailure: Error, Sendable, Equatable {
  /// No `initdb` and `postgres` of version 14 or later were found in these directories.
  case noServer(searched: [String])
  /// No server of the data's major version was found.
  case wrongVersion(data: Int, found: [Int])
  case inUse(directory: String, process: Int32?)
  case notRunning(directory: String)
  case system(operation: String, path: String, reason: String)
  case program(name: String, output: String)
  case noAccount
  case tooSlow(operation: String, seconds: Int)
  /// A restore into this directory was interrupted.
  case unfinishedRestore(directory: String)
  /// A restore needs an empty directory.
  case notEmpty(directory: String, entry: String)
  case notABackup(path: String, reason: String)
  case noSpace(path: String, needed: Int64, free: Int64, remedy: String)
  case backupRunning(folder: String, process: Int32?)
  case noCluster(directory: String)
  /// `newest` is the newest installed major version.
  case noNewerServer(data: Int, newest: Int)
  /// An upgrade, or the way back, was interrupted between its two renames.
  case unfinishedUpgrade(directory: String)
  case cannotUpgrade(reason: String)
  /// The disk became full during the upgrade; `cause` is what failed then.
  case upgradeWithoutSpace(path: String, free: Int64, needed: Int64, cause: String)
  /// The newer cluster does not equal the old one.
  case notEqual([String])
  case noWayBack(reason: String)
}

extension ClusterFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noServer(let searched):
      "no PostgreSQL server of version 14 or later found "
        + "(searched \(searched.joined(separator: ", "))); install it "
        + "(Debian, Ubuntu: apt-get install postgresql), or name a server with --database-url"
    case .wrongVersion(let data, let found):
      "the data directory is of PostgreSQL \(data), but the only installed version is "
        + found.map(String.init).joined(separator: ", ")
        + "; install PostgreSQL \(data) as well, with which chirrup cluster upgrade moves the data "
        + "to a newer one"
    case .inUse(let directory, let process?):
      "another gateway (process \(process)) uses \(directory); stop it, or set another --data-dir"
    case .inUse(let directory, nil):
      "another gateway uses \(directory); stop it, or set another --data-dir"
    case .notRunning(let directory):
      "no private PostgreSQL is running in \(directory); start the gateway"
    case .system(let operation, let path, let reason):
      "cannot \(operation) \(path): \(reason)"
    case .program(let name, let output):
      "\(name) failed: \(output)"
    case .noAccount:
      "PostgreSQL refuses to run as root, and the users postgres and nobody do not exist; "
        + "create one of them, or run as another user"
    case .tooSlow(let operation, let seconds):
      "PostgreSQL did not \(operation) within \(seconds) s"
    case .unfinishedRestore(let directory):
      "a restore into \(directory) was interrupted; run chirrup restore again, or delete "
        + "\(directory)/postgres to begin with an empty database"
    case .notEmpty(let directory, let entry):
      "\(directory) is not empty (it contains \(entry)); name an empty folder, or move the old "
        + "one away, and keep it until you have seen that the restored one is right"
    case .notABackup(let path, let reason):
      "\(path) is not a complete backup: \(reason)"
    case .noSpace(let path, let needed, let free, let remedy):
      "\(path) has \(mebibytes(free)) free, and \(mebibytes(needed)) are needed; \(remedy)"
    case .backupRunning(let folder, let process):
      "another backup \(process.map { "(process \($0)) " } ?? "")is being written to \(folder); "
        + "wait until it has ended"
    default: upgradeDescription
    }
  }

  private var upgradeDescription: String {
    switch self {
    case .noCluster(let directory):
      "there is no private PostgreSQL in \(directory); name its folder with --data-dir"
    case .noNewerServer(let data, let newest):
      "the cluster is of PostgreSQL \(data), and the newest one that is found is \(newest); "
        + "install a newer one, or name its programs with --to-bin"
    case .unfinishedUpgrade(let directory):
      "an upgrade of the cluster in \(directory) was interrupted; run chirrup cluster upgrade "
        + "--yes to complete it, or chirrup cluster upgrade --revert --yes to undo it"
    case .upgradeWithoutSpace(let path, let free, let needed, let cause):
      "No space left on device: the disk of \(path) has become full (\(mebibytes(free)) were "
        + "free). The old cluster is in use, unchanged, and what was written is removed; free "
        + "\(mebibytes(needed)), and run it again. \(cause)"
    case .cannotUpgrade(let reason): "the cluster was not upgraded: \(reason)"
    case .notEqual(let differences):
      "the newer cluster differs from the old one, which stays in use, unchanged; report this\n"
        + differences.map { "  \($0)" }.joined(separator: "\n")
    case .noWayBack(let reason): "there is no old cluster to return to: \(reason)"
    default: ""
    }
  }
}

/// A number of bytes, rounded up to MiB.
public func mebibytes(_ bytes: Int64) -> String { "\((bytes + (1 << 20) - 1) >> 20) MiB" }
