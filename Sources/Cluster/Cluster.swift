import Glibc

/// A private PostgreSQL under a data folder, so that one command gives a whole live chat: made on
/// first use, started on a Unix socket only, stopped again.
///
/// DIR/gateway.lock     held by the gateway that uses it DIR/postgres.log     what the server says
/// DIR/postgres/data    the cluster DIR/postgres/run     its socket, mode 0700: the only way in, so
/// no password is needed
///
/// The server runs in a session of its own: Ctrl-C reaches the gateway, which drains before it
/// stops the server. After a kill -9 of the gateway the server is still there, and the next gateway
/// takes it over. Nothing here is for the event loop: `start` and `stop` wait.
public final class Cluster {
  /// What the operator should know, such as data that had to be put elsewhere.
  public private(set) var notes: [String] = []
  /// How to connect, for libpq; empty before `start`.
  public private(set) var url = ""

  private let directory: String
  private var lock: Int32 = -1
  private var server: Postmaster?
  private var data = ""
  private var privateSocketFolder: String?

  private let survivesPowerLoss: Bool

  public convenience init(dataDirectory: String) {
    self.init(dataDirectory: dataDirectory, survivesPowerLoss: true)
  }

  /// Tests do not wait for the disk: their data need only outlive a crash of the server.
  init(dataDirectory: String, survivesPowerLoss: Bool) {
    directory = dataDirectory
    self.survivesPowerLoss = survivesPowerLoss
  }

  deinit {
    // The server stays: who wants it to stop says so.
    if lock >= 0 { close(lock) }
  }

  /// Returns when the server answers.
  public func start() throws(ClusterFailure) {
    try Folder.make(directory, mode: 0o755)
    let directory = try Folder.resolve(directory)
    try takeLock(directory + "/gateway.lock")
    do throws(ClusterFailure) {
      let account = try account(for: directory + "/postgres")
      let home = try home(in: directory, for: account)
      data = home + "/data"
      // One that is just stopping ends; then it is started like any other.
      if let left = Postmaster.running(on: data), try awaitReady(left.process), isStaying() {
        notes.append("took over the PostgreSQL that an earlier gateway left running")
      } else {
        let binaries = try ServerBinaries.find(version: dataVersion)
        if dataVersion == nil { try create(home, binaries, account) }
        try launch(
          binaries, account, socketFolder: socketFolder(in: home, for: account),
          log: directory + "/postgres.log")
      }
      url = Cluster.url(socketFolder: server?.socketFolder ?? "")
    } catch {
      close(lock)
      lock = -1
      throw error
    }
  }

  /// Stops the server: connections are ended, what is committed is on disk. Bounded: a server that
  /// does not stop in 30 s is told to stop at once and recovers at its next start.
  public func stop() {
    defer {
      if lock >= 0 { close(lock) }
      lock = -1
      url = ""
      server = nil
    }
    guard let server else { return }
    for (signal, seconds) in [(SIGINT, 30), (SIGQUIT, 10), (SIGKILL, 5)] {
      kill(server.process, signal)
      if waitUntil(seconds: seconds, { self.hasEnded(server.process) }) { break }
    }
    if let folder = privateSocketFolder {
      // SAFETY: the path is copied into a C string for the call.
      unsafe _ = rmdir(folder)
      privateSocketFolder = nil
    }
  }

  /// For tests: the server ends without a checkpoint, as after a crash, and comes back on the same
  /// socket.
  public func crashAndRestart() throws(ClusterFailure) {
    guard let old = server else { return }
    kill(old.process, SIGQUIT)
    _ = waitUntil(seconds: 30) { self.hasEnded(old.process) }
    let directory = try Folder.resolve(directory)
    try launch(
      ServerBinaries.find(version: dataVersion), account(for: directory + "/postgres"),
      socketFolder: old.socketFolder, log: directory + "/postgres.log")
  }

  /// The URL of the server that a gateway runs on this folder, for a command beside it.
  public static func attach(dataDirectory: String) throws(ClusterFailure) -> String {
    guard let data = try? Folder.resolve(dataDirectory + "/postgres/data"),
      let server = Postmaster.running(on: data), server.isReady
    else { throw .notRunning(directory: dataDirectory) }
    return url(socketFolder: server.socketFolder)
  }

  private static func url(socketFolder: String) -> String {
    var encoded = ""
    for byte in socketFolder.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "_"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return "postgresql:///chirrup?host=\(encoded)&user=chirrup"
  }

  // MARK: Where

  private func takeLock(_ path: String) throws(ClusterFailure) {
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw .system(operation: "open", path: path, reason: systemText(errno))
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      let holder = Folder.read(path).flatMap { Int32($0.prefix { $0.isNumber }) }
      throw .inUse(directory: directory, process: holder)
    }
    ftruncate(file, 0)
    let text = Array("\(getpid())\n".utf8)
    // SAFETY: the buffer has `count` bytes.
    unsafe _ = text.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
    lock = file
  }

  /// nil unless we are root. Data that is there already keeps its owner.
  private func account(for home: String) throws(ClusterFailure) -> Account? {
    guard getuid() == 0 else { return nil }
    if let owner = Folder.owner(of: home + "/data"), owner.user != 0 { return owner }
    return try Account.unprivileged()
  }

  /// The folder that the server's account owns. Where that account cannot reach it (a home of mode
  /// 0700 above it), it lies under /var/lib/chirrup, and a link leads there.
  private func home(in directory: String, for account: Account?) throws(ClusterFailure) -> String {
    let path = directory + "/postgres"
    if !Folder.exists(path) {
      try Folder.make(path, mode: 0o700)
      try Folder.give(path, to: account)
    }
    var home = try Folder.resolve(path)
    if let account, home == path,
      try !Program(path: "test", arguments: ["-w", home], account: account).run(seconds: 10)
        .succeeded
    {
      try Folder.make("/var/lib/chirrup", mode: 0o755)
      home = try Folder.makeUnique("/var/lib/chirrup/cluster-")
      try Folder.give(home, to: account)
      // SAFETY: the paths are copied into C strings for the calls. rmdir fails on anything but an
      // empty folder.
      guard unsafe rmdir(path) == 0, unsafe symlink(home, path) == 0 else {
        throw .system(operation: "replace", path: path, reason: systemText(errno))
      }
    }
    if home != path {
      notes.append("the database is in \(home), since \(directory) is closed to its user")
    }
    return home
  }

  /// A socket's path may have 107 bytes.
  private func socketFolder(
    in home: String, for account: Account?
  ) throws(ClusterFailure) -> String {
    let folder = home + "/run"
    if (folder + "/.s.PGSQL.5432.lock").utf8.count <= 107 {
      try Folder.make(folder, mode: 0o700)
      try Folder.give(folder, to: account)
      return folder
    }
    // SAFETY: the environment is read at start, before any thread could change it.
    let runtime = unsafe getenv("XDG_RUNTIME_DIR").map { unsafe String(cString: $0) }
    let base = account == nil ? runtime.flatMap { Folder.exists($0) ? $0 : nil } : nil
    let short = try Folder.makeUnique((base ?? "/tmp") + "/chirrup-")
    try Folder.give(short, to: account)
    privateSocketFolder = short
    notes.append("the socket is in \(short), since the path of \(home) is too long for one")
    return short
  }

  private var dataVersion: Int? {
    Folder.read(data + "/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) }
  }

  // MARK: Making, starting, waiting

  /// Everything happens in `data.new`, which becomes `data` when it is complete.
  private func create(
    _ home: String, _ binaries: ServerBinaries, _ account: Account?
  ) throws(ClusterFailure) {
    let fresh = home + "/data.new"
    try Program(path: "rm", arguments: ["-rf", "--", fresh], account: account)
      .runChecked(seconds: 60)
    try Program(
      path: binaries.initdb,
      arguments: [
        "-D", fresh, "-U", "chirrup", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
        "--data-checksums",
      ] + (survivesPowerLoss ? [] : ["--no-sync"]), account: account
    ).runChecked(seconds: 120)
    try Program(
      path: binaries.postgres, arguments: ["--single", "-D", fresh, "postgres"], account: account,
      input: "CREATE DATABASE chirrup\n"
    ).runChecked(seconds: 60)
    if survivesPowerLoss { try Tuning.append(to: fresh + "/postgresql.conf") }
    // SAFETY: the paths are copied into C strings for the call.
    guard unsafe rename(fresh, data) == 0 else {
      throw .system(operation: "rename", path: fresh, reason: systemText(errno))
    }
  }

  private func launch(
    _ binaries: ServerBinaries, _ account: Account?, socketFolder: String, log: String
  ) throws(ClusterFailure) {
    // Only left by a crash: no server runs here, and the number in it may be somebody else's by
    // now. SAFETY: the path is copied into a C string for the call.
    unsafe _ = unlink(data + "/postmaster.pid")
    let file = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw .system(operation: "open", path: log, reason: systemText(errno))
    }
    defer { close(file) }
    let quoted = "\"" + socketFolder.replacing("\"", with: "\"\"") + "\""
    let process = try Program(
      path: binaries.postgres,
      arguments: [
        "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories=\(quoted)",
        "-c", "unix_socket_permissions=0700", "-c", "port=5432",
        // What an acknowledged message rests on; not to be turned off by a configuration file.
        "-c", "fsync=\(survivesPowerLoss ? "on" : "off")", "-c", "synchronous_commit=on", "-c",
        "full_page_writes=on",
      ], account: account
    ).startDetached(log: file)
    guard try awaitReady(process) else {
      let lines = (Folder.read(log) ?? "").split(separator: "\n").suffix(8)
      throw .program(name: "postgres", output: lines.joined(separator: "\n"))
    }
  }

  /// False when the process has ended instead.
  private func awaitReady(_ process: pid_t) throws(ClusterFailure) -> Bool {
    // Recovery after a crash may take long; it is bounded by max_wal_size.
    let seconds = 300
    var ended = false
    let ready = waitUntil(seconds: seconds) {
      if let running = Postmaster.running(on: self.data), running.isReady {
        self.server = running
        return true
      }
      ended = self.hasEnded(process)
      return ended
    }
    if !ready { throw .tooSlow(operation: "start", seconds: seconds) }
    return !ended
  }

  /// A server that has just been told to stop says so a moment later.
  private func isStaying() -> Bool {
    usleep(100_000)
    if let running = Postmaster.running(on: data) {
      if running.isReady { return true }
      _ = waitUntil(seconds: 60) { self.hasEnded(running.process) }
    }
    return false
  }

  /// Reaps it when it is our child.
  private func hasEnded(_ process: pid_t) -> Bool {
    var status: Int32 = 0
    // SAFETY: `status` is written during the call.
    if unsafe waitpid(process, &status, WNOHANG) == process { return true }
    return kill(process, 0) != 0 && errno == ESRCH
  }

  private func waitUntil(seconds: Int, _ condition: () -> Bool) -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while !condition() {
      if clock.now >= deadline { return false }
      usleep(5_000)
    }
    return true
  }
}
