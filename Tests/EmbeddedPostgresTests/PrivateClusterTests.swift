import Glibc
import Postgres
import Testing

@testable import EmbeddedPostgres

/// Each test has its own data folder in /tmp and removes it.
@Suite(.serialized) struct PrivateClusterTests {
  private func withFolder(_ name: String, _ body: (String) throws -> Void) throws {
    let folder = "/tmp/chirrup-cluster-test-\(getpid())-\(name)"
    defer { _ = try? remove(folder) }
    try body(folder)
  }

  /// Runs without fsync.
  private func quick(_ folder: String) -> PrivateCluster {
    PrivateCluster(dataDirectory: folder, survivesPowerLoss: false)
  }

  private func remove(_ folder: String) throws {
    // SAFETY: the path is copied into a C string for the call.
    _ = unsafe system("rm -rf -- '\(folder)'")
  }

  @Test func `data survives a stop`() throws {
    try withFolder("warm") { folder in
      let first = PrivateCluster(dataDirectory: folder)
      try first.start()
      let connection = try BlockingConnection(first.url)
      try connection.execute(script: "CREATE TABLE t (n int); INSERT INTO t VALUES (42)")
      #expect(try connection.run(Query("SHOW fsync")).text(0, 0) == "on")
      #expect(try connection.run(Query("SHOW synchronous_commit")).text(0, 0) == "on")
      #expect(try connection.run(Query("SHOW full_page_writes")).text(0, 0) == "on")
      #expect(try connection.run(Query("SHOW listen_addresses")).text(0, 0) == "")
      #expect(try connection.run(Query("SHOW max_wal_size")).text(0, 0) == "2GB")
      #expect(try connection.run(Query("SHOW wal_init_zero")).text(0, 0) == "off")
      first.stop()
      #expect(throws: ClusterFailure.notRunning(directory: folder)) {
        try PrivateCluster.attach(dataDirectory: folder)
      }

      let second = PrivateCluster(dataDirectory: folder)
      try second.start()
      let again = try BlockingConnection(PrivateCluster.attach(dataDirectory: folder))
      #expect(try again.run(Query("SELECT n FROM t")).int(0, 0) == 42)
      second.stop()
    }
  }

  @Test func `its buffers depend on the machine's memory`() {
    #expect(Tuning.sharedBuffers(memory: 256 << 20) == 128)
    #expect(Tuning.sharedBuffers(memory: 2 << 30) == 512)
    #expect(Tuning.sharedBuffers(memory: 64 << 30) == 1_024)
  }

  @Test func `a second gateway on the same folder is refused, a command is not`() throws {
    try withFolder("second") { folder in
      let first = quick(folder)
      try first.start()
      #expect(throws: ClusterFailure.inUse(directory: folder, process: getpid())) {
        try quick(folder).start()
      }
      #expect(try PrivateCluster.attach(dataDirectory: folder) == first.url)
      first.stop()
    }
  }

  /// An unsupervised server, as an earlier version left it: PostgreSQL alone.
  private func leave(_ folder: String) throws -> String {
    let cluster = quick(folder)
    try cluster.start()
    let url = cluster.url
    cluster.stop()
    let postgres = try ServerBinaries.find(version: nil).postgres
    let account = try getuid() == 0 ? Account.unprivileged() : nil
    let user = account.map { "setpriv --reuid=\($0.user) --regid=\($0.group) --clear-groups --" }
    let home = folder + "/postgres"
    // SAFETY: the text is copied into a C string for the call.
    _ = unsafe system(
      "cd / && \(user ?? "") setsid '\(postgres)' -D '\(home)/data' -k '\(home)/run' "
        + "-c listen_addresses= > /dev/null 2>&1 &")
    #expect(
      waitUntil(milliseconds: 60_000) { (try? PrivateCluster.attach(dataDirectory: folder)) != nil }
    )
    return url
  }

  @Test func `an orphaned server is stopped, and a supervised one replaces it`() throws {
    try withFolder("left") { folder in
      let url = try leave(folder)
      let stranger = try #require(Postmaster.running(on: folder + "/postgres/data")).process
      let next = quick(folder)
      try next.start()
      #expect(next.url == url)
      #expect(next.notes.contains { $0.contains("had left") })
      #expect(Folder.target(ofLink: "/proc/\(stranger)/cwd") == nil)
      #expect(try BlockingConnection(url).run(Query("SELECT 1")).int(0, 0) == 1)
      next.stop()
      #expect(throws: QueryFailure.self) { try BlockingConnection(url) }
    }
  }

  @Test func `the pid file of a crashed server is not trusted`() throws {
    try withFolder("stale") { folder in
      let first = quick(folder)
      try first.start()
      first.stop()
      // The id of a living process that is no server: this one.
      let file = folder + "/postgres/data/postmaster.pid"
      // SAFETY: the paths are copied into C strings for the call.
      _ = unsafe system("echo \(getpid()) > '\(file)'")
      let second = quick(folder)
      try second.start()
      #expect(try BlockingConnection(second.url).run(Query("SELECT 1")).int(0, 0) == 1)
      second.stop()
    }
  }

  @Test func `a server that is stopping is awaited and started again`() throws {
    try withFolder("stopping") { folder in
      _ = try leave(folder)
      let file = folder + "/postgres/data/postmaster.pid"
      // SAFETY: the text is copied into a C string for the call.
      _ = unsafe system(
        "kill -INT $(head -n 1 '\(file)'); while grep -q ready '\(file)' 2> /dev/null; do :; done")
      let next = quick(folder)
      try next.start()
      #expect(try BlockingConnection(next.url).run(Query("SELECT 1")).int(0, 0) == 1)
      next.stop()
    }
  }

  @Test(.enabled(if: getuid() == 0, "only root runs the server as somebody else"))
  func `the data is in another folder if the server's user cannot access the first`() throws {
    try withFolder("closed") { folder in
      // SAFETY: the text is copied into a C string for the call.
      _ = unsafe system("mkdir -m 700 '\(folder)'")
      let cluster = quick(folder + "/var")
      try cluster.start()
      #expect(cluster.notes.contains { $0.contains("/var/lib/chirrup/cluster-") })
      #expect(try PrivateCluster.attach(dataDirectory: folder + "/var") == cluster.url)
      cluster.stop()
      let again = quick(folder + "/var")
      try again.start()
      #expect(try BlockingConnection(again.url).run(Query("SELECT 1")).int(0, 0) == 1)
      again.stop()
      // SAFETY: as above.
      _ = unsafe system(
        "rm -rf -- \"$(readlink '\(folder)/var/postgres')\"; rmdir /var/lib/chirrup")
    }
  }

  @Test func `a path that is too long for a socket is replaced by a private folder`() throws {
    try withFolder("long") { folder in
      let long = folder + "/" + String(repeating: "x", count: 100) + "/with space, comma"
      let cluster = quick(long)
      try cluster.start()
      #expect(cluster.notes.contains { $0.contains("socket") })
      #expect(try BlockingConnection(cluster.url).run(Query("SELECT 1")).int(0, 0) == 1)
      #expect(try PrivateCluster.attach(dataDirectory: long) == cluster.url)
      cluster.stop()
    }
  }

  @Test func `the server runs in its own session`() throws {
    try withFolder("session") { folder in
      let cluster = quick(folder)
      try cluster.start()
      let connection = try BlockingConnection(cluster.url)
      let own = try #require(try connection.run(Query("SELECT pg_backend_pid()")).int(0, 0))
      // A backend is a child of the server and belongs to its session.
      let session = getsid(pid_t(own))
      #expect(session > 0)
      #expect(session != getsid(0))
      cluster.stop()
    }
  }
}
