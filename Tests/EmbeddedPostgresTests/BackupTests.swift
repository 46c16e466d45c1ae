import Glibc
import Postgres
import Primitives
import Testing

@testable import EmbeddedPostgres

/// Backups of a running server, and their restores. Each test has its own folder.
@Suite(.serialized) struct BackupTests {
  private func withFolder(_ name: String, _ body: (String) throws -> Void) throws {
    let folder = "/tmp/chirrup-backup-test-\(getpid())-\(name)"
    try Folder.make(folder, mode: 0o755)
    defer { _ = try? Folder.remove(folder) }
    try body(folder)
  }

  /// A server with a table `t` of one row, without fsync.
  private func withServer(_ name: String, _ body: (String) throws -> Void) throws {
    try withFolder(name) { folder in
      let cluster = PrivateCluster(dataDirectory: folder + "/data", survivesPowerLoss: false)
      try cluster.start()
      defer { cluster.stop() }
      try BlockingConnection(cluster.url)
        .execute(script: "CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
      try body(folder)
    }
  }

  private let time = WallTime(microseconds: 1_764_036_903_042_000)

  private func rows(_ url: String) throws -> Int64? {
    try BlockingConnection(url).run(Query("SELECT count(*) FROM t")).int(0, 0)
  }

  private func take(_ folder: String, at time: WallTime) throws -> String {
    let backups = try BackupFolder(folder + "/backups", of: folder + "/data")
    let backup = BaseBackup(in: backups, at: time)
    #expect(try backup.copy(of: folder + "/data", rate: nil) {} > 1 << 20)
    #expect(try backup.verify { try rows($0) } == 1)
    #expect(try backups.complete().isEmpty, "not before it has been verified")
    try backup.complete()
    return backup.path
  }

  @Test func `a backup of a running server is restored, and only into an empty folder`() throws {
    try withServer("whole") { folder in
      let backup = try take(folder, at: time)
      #expect(backup.hasSuffix("/chirrup-20251125T021503.042Z"))
      try BlockingConnection(PrivateCluster.attach(dataDirectory: folder + "/data"))
        .execute(script: "INSERT INTO t VALUES (2)")
      let target = folder + "/restored"
      let restored = PrivateCluster(dataDirectory: target, survivesPowerLoss: false)
      var events: [RestoreEvent] = []
      #expect(try restored.restore(backup, report: { events.append($0) }) { try rows($0) } == 1)
      #expect(events.last == .recovering)
      #expect(
        events.contains {
          if case .verifying(let bytes) = $0 { bytes > 1 << 20 } else { false }
        })
      #expect(throws: ClusterFailure.notEmpty(directory: target, entry: "postgres/data")) {
        try PrivateCluster(dataDirectory: target).restore(backup) { _ in }
      }
      let next = PrivateCluster(dataDirectory: target, survivesPowerLoss: false)
      try next.start()
      #expect(try rows(next.url) == 1)
      next.stop()
    }
  }

  @Test func `no gateway starts on an interrupted restore, and the next restore begins again`()
    throws
  {
    try withServer("interrupted") { folder in
      let backup = try take(folder, at: time)
      let target = folder + "/restored"
      let account = try getuid() == 0 ? Account.unprivileged() : nil
      for part in ["/postgres", "/postgres/data.restored"] {
        try Folder.make(target + part, mode: 0o700)
        try Folder.give(target + part, to: account)
      }
      let gateway = PrivateCluster(dataDirectory: target, survivesPowerLoss: false)
      #expect(throws: ClusterFailure.unfinishedRestore(directory: target)) { try gateway.start() }
      let restored = PrivateCluster(dataDirectory: target, survivesPowerLoss: false)
      #expect(try restored.restore(backup) { try rows($0) } == 1)
    }
  }

  @Test func `a failure after the copy leaves nothing that a gateway could start on`() throws {
    struct Refused: Error {}
    try withServer("refused") { folder in
      let backup = try take(folder, at: time)
      let target = folder + "/restored"
      #expect(throws: Refused.self) {
        try PrivateCluster(dataDirectory: target).restore(backup) { _ in throw Refused() }
      }
      #expect(try Folder.names(in: target + "/postgres").allSatisfy { $0 == "run" })
      try Folder.remove(backup + "/base/1")
      #expect {
        try PrivateCluster(dataDirectory: target).restore(backup) { _ in }
      } throws: { error in
        guard case .notABackup(backup, let reason) = error as? ClusterFailure else { return false }
        return reason.contains("present in the manifest but not on disk")
      }
    }
  }

  @Test func `an unfinished backup is removed by the next one, and old ones by number`() throws {
    try withServer("old") { folder in
      let backups = folder + "/backups"
      let first = try take(folder, at: time)
      let half = BackupFolder.name(at: time) + ".unfinished"
      try Folder.make(backups + "/" + half + "/data", mode: 0o700)
      for name in ["letters", "chirrup-2025"] { try Folder.make(backups + "/" + name, mode: 0o700) }
      _ = try Folder.remove(backups + "/backup.lock")
      let open = try BackupFolder(backups, of: folder + "/data")
      #expect(!Folder.exists(backups + "/" + half))
      #expect(throws: ClusterFailure.backupRunning(folder: backups, process: getpid())) {
        _ = try BackupFolder(backups, of: folder + "/data")
      }
      for number in 1...3 {
        let name = BackupFolder.name(at: WallTime(microseconds: Int64(number) * 1_000))
        try Folder.make(backups + "/" + name, mode: 0o700)
      }
      #expect(
        try open.keep(2) == ["chirrup-19700101T000000.001Z", "chirrup-19700101T000000.002Z"])
      #expect(
        try Folder.names(in: backups) == [
          "backup.lock", "chirrup-19700101T000000.003Z", "chirrup-2025",
          String(first.split(separator: "/").last ?? ""), "letters",
        ])
    }
  }

  @Test func `a folder without room is refused before anything is written`() throws {
    try withFolder("full") { folder in
      let backups = try BackupFolder(folder + "/backups", of: folder + "/data")
      let backup = BaseBackup(in: backups, at: time)
      try backup.checkSpace(bytes: 0, isVerified: true)
      #expect {
        try backup.checkSpace(bytes: 1 << 60, isVerified: true)
      } throws: { error in
        guard case .noSpace(_, let needed, let free, let remedy) = error as? ClusterFailure else {
          return false
        }
        return needed == BaseBackup.space(bytes: 1 << 60, isVerified: true) && free > 0
          && remedy.contains("--no-verify")
      }
      #expect(try Folder.names(in: folder + "/backups") == ["backup.lock"])
    }
  }
}
