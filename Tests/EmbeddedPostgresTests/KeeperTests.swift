import Glibc
import Postgres
import Synchronization
import Testing

@testable import EmbeddedPostgres

/// The private server is supervised: it is restarted after any end, and ends with this process.
@Suite(.serialized) struct KeeperTests {
  private final class Record: Sendable {
    private let events = Mutex<[ClusterEvent]>([])

    func add(_ event: ClusterEvent) { events.withLock { $0.append(event) } }

    var all: [ClusterEvent] { events.withLock { $0 } }

    func await(_ count: Int) -> Bool { waitUntil(milliseconds: 60_000) { all.count >= count } }
  }

  private func withCluster(
    _ name: String, _ body: (PrivateCluster, Record, _ data: String) throws -> Void
  ) throws {
    let folder = "/tmp/chirrup-keeper-test-\(getpid())-\(name)"
    let record = Record()
    let cluster = PrivateCluster(dataDirectory: folder, survivesPowerLoss: false) { record.add($0) }
    defer {
      cluster.stop()
      // SAFETY: the text is copied into a C string for the call.
      _ = unsafe system("rm -rf -- '\(folder)'")
    }
    try cluster.start()
    try body(cluster, record, folder + "/postgres/data")
  }

  private func process(_ data: String) throws -> pid_t {
    try #require(Postmaster.running(on: data)).process
  }

  @Test(arguments: [SIGQUIT, SIGKILL, SIGTERM, SIGABRT])
  func `a server ended by a signal is restarted on the same socket`(signal: Int32) throws {
    try withCluster("signal-\(signal)") { cluster, record, data in
      let connection = try BlockingConnection(cluster.url)
      try connection.execute(script: "CREATE TABLE t (n int); INSERT INTO t VALUES (42)")
      let first = try process(data)
      kill(first, signal)
      // It waits for its clients to disconnect.
      if signal == SIGTERM {
        #expect(throws: ScriptFailure.self) {
          try connection.execute(script: "SELECT pg_terminate_backend(pg_backend_pid())")
        }
      }
      try #require(record.await(2))
      guard case .ended(let reason) = record.all[0], case .running = record.all[1] else {
        Issue.record("\(record.all)")
        return
      }
      #expect(reason.contains("process \(first)"))
      let words = [
        SIGQUIT: "immediate shutdown", SIGKILL: "SIGKILL", SIGTERM: "smart shutdown",
        SIGABRT: "SIGABRT",
      ]
      #expect(reason.contains(words[signal] ?? "?"))
      #expect(try process(data) != first)
      let again = try BlockingConnection(cluster.url)
      #expect(try again.run(Query("SELECT n FROM t")).int(0, 0) == 42)
    }
  }

  /// A busy backend does not notice the end of its server, and keeps the shared memory attached.
  @Test func `a backend that outlives its server does not prevent the next start`() throws {
    try withCluster("backend") { cluster, record, data in
      // SAFETY: the text is copied into a C string for the call.
      _ = unsafe system(
        "psql -X '\(cluster.url)' -c 'SELECT count(*) FROM generate_series(1, 20000000000)' "
          + "> /dev/null 2>&1 &")
      let watcher = try BlockingConnection(cluster.url)
      let query = Query(
        """
        SELECT pid FROM pg_stat_activity
        WHERE query LIKE '%generate_series(1%' AND pid <> pg_backend_pid()
        """)
      var busy: pid_t?
      try #require(
        waitUntil(milliseconds: 30_000) {
          busy = (try? watcher.run(query)).flatMap { $0.isEmpty ? nil : $0.int(0, 0) }.map {
            pid_t($0)
          }
          return busy != nil
        })
      usleep(100_000)
      kill(try process(data), SIGKILL)
      try #require(record.await(2))
      guard case .running = record.all[1] else {
        Issue.record("\(record.all)")
        return
      }
      #expect(Folder.target(ofLink: "/proc/\(try #require(busy))/cwd") != data)
      #expect(try BlockingConnection(cluster.url).run(Query("SELECT 1")).int(0, 0) == 1)
    }
  }

  @Test func `a server that cannot start reports the reason once, and starts when possible`() throws
  {
    try withCluster("broken") { cluster, record, data in
      let settings = data + "/postgresql.conf"
      // SAFETY: the texts are copied into C strings for the calls.
      _ = unsafe system(
        "cp -p '\(settings)' '\(settings).good'; echo 'nonsense = 1' >> '\(settings)'")
      kill(try process(data), SIGQUIT)
      try #require(record.await(2))
      guard case .notStarted(let reason) = record.all[1] else {
        Issue.record("\(record.all)")
        return
      }
      #expect(reason.contains("status 1"))
      // After several attempts it is still one line.
      usleep(1_500_000)
      #expect(record.all.count == 2)
      _ = unsafe system("cp -p '\(settings).good' '\(settings)'")
      try #require(record.await(3))
      guard case .running = record.all[2] else {
        Issue.record("\(record.all)")
        return
      }
      #expect(try BlockingConnection(cluster.url).run(Query("SELECT 1")).int(0, 0) == 1)
    }
  }

  @Test func `a deliberately stopped server starts only on request`() throws {
    let folder = "/tmp/chirrup-keeper-test-\(getpid())-purpose"
    let cluster = PrivateCluster(
      dataDirectory: folder, survivesPowerLoss: false, restartsByItself: false)
    defer {
      cluster.stop()
      // SAFETY: the text is copied into a C string for the call.
      _ = unsafe system("rm -rf -- '\(folder)'")
    }
    try cluster.start()
    kill(try process(folder + "/postgres/data"), SIGQUIT)
    usleep(1_500_000)
    #expect(throws: QueryFailure.self) { try BlockingConnection(cluster.url) }
    try cluster.crashAndRestart()
    #expect(try BlockingConnection(cluster.url).run(Query("SELECT 1")).int(0, 0) == 1)
  }

  @Test func `the pauses grow to a second, and are reset by a server that stayed up`() {
    var pause = Keeper.Pause()
    let pauses = (0..<7).map { _ in pause.take(hasRunMilliseconds: 0) }
    #expect(pauses == [0, 50, 100, 200, 400, 800, 1_000])
    #expect(pause.take(hasRunMilliseconds: Keeper.Pause.calmMilliseconds) == 0)
    #expect(pause.take(hasRunMilliseconds: 0) == 50)
  }

  @Test func `syncfs is used where it reports errors`() {
    #expect(Server.syncMethod(release: "6.18.44-fc-v509\n") == "syncfs")
    #expect(Server.syncMethod(release: "5.8.0") == "syncfs")
    #expect(Server.syncMethod(release: "5.4.0-150-generic") == "fsync")
    #expect(Server.syncMethod(release: "") == "fsync")
  }

  @Test func `the logged reason belongs to the server that ended`() {
    let log = """
      2026-11-23 10:00:00.000 UTC [7] LOG:  received fast shutdown request
      2026-11-23 10:00:01.000 UTC [8] LOG:  database system is ready to accept connections
      2026-11-23 10:00:02.000 UTC [9] FATAL:  role "x" does not exist
      2026-11-23 10:00:03.000 UTC [8] LOG:  startup process (PID 11) was terminated by signal 9
      2026-11-23 10:00:03.000 UTC [8] LOG:  database system is shut down
      """
    #expect(
      Server.lastWords(of: 8, in: log) == "startup process (PID 11) was terminated by signal 9")
    #expect(
      Server.lastWords(of: 8, in: log + "\n[12] PANIC:  could not write") == "could not write")
    #expect(Server.lastWords(of: 10, in: log) == nil)
    #expect(Server.lastWords(of: 8, in: log, isKilled: true) == nil)
    #expect(
      Server.lastWords(of: 10, in: log + "\npostgres: FATAL:  no such folder") == "no such folder")
  }

  /// kill -9 of the parent, in a separate process.
  @Test func `a server ends with its parent process, however the parent ends`() async throws {
    let folder = "/tmp/chirrup-keeper-test-\(getpid())-parent"
    defer {
      // SAFETY: the text is copied into a C string for the call.
      _ = unsafe system("rm -rf -- '\(folder)'")
    }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let cluster = PrivateCluster(
        dataDirectory: "/tmp/chirrup-keeper-test-\(getppid())-parent", survivesPowerLoss: false)
      try cluster.start()
      // A descriptor that could be inherited.
      _ = dup(2)
      kill(getpid(), SIGKILL)
    }
    let data = folder + "/postgres/data"
    #expect(Folder.exists(data))
    #expect(waitUntil(milliseconds: 60_000) { Postmaster.running(on: data) == nil })
    // An orderly shutdown: it removed its file.
    #expect(!Folder.exists(data + "/postmaster.pid"))
  }

  @Test func `the server inherits no descriptor`() throws {
    // Without O_CLOEXEC, as a library may have opened it.
    let own = dup(2)
    defer { close(own) }
    try withCluster("descriptors") { _, _, data in
      let process = try process(data)
      let ours = try #require(Folder.target(ofLink: "/proc/self/fd/\(own)"))
      for number in Folder.children(of: "/proc/\(process)/fd") {
        #expect(Folder.target(ofLink: "/proc/\(process)/fd/\(number)") != ours)
      }
    }
  }
}
