import Glibc
import Kernel
import Primitives

/// A private PostgreSQL in a data directory, so that one command starts a complete live chat. It is
/// created on first use and listens on a Unix socket only.
///
///     DIR/gateway.lock     locked by the gateway that uses the directory
///     DIR/postgres.log     the server's log
///     DIR/postgres/data    the database cluster
///     DIR/postgres/run     its socket, mode 0700: the only access, so no password is needed
///
/// The server runs in its own session (setsid(2)): Ctrl-C reaches only the gateway, which drains
/// before it stops the server. `Keeper` restarts the server after any unexpected end. The server
/// does not outlive the gateway: after a kill -9 of the gateway it shuts down in an orderly way.
/// `start` and `stop` block, so they must not run on an event loop.
public final class PrivateCluster {
  /// Messages for the administrator, for example that the data is in another directory.
  public private(set) var notes: [String] = []
  /// The connection URL for libpq; empty before `start`.
  public private(set) var url = ""

  let directory: String
  private var lock: LockFile?
  private var keeper: Keeper?
  private var data = ""
  private var privateSocketFolder: String?

  private let survivesPowerLoss: Bool
  private let restartsByItself: Bool
  private let report: @Sendable (ClusterEvent) -> Void

  /// Recovery after a crash may take long; max_wal_size bounds it.
  private static let startMilliseconds = 300_000

  /// - Parameters:
  ///   - restartsByItself: false for tests that end the server and start it with `crashAndRestart`.
  ///   - report: called on the keeper's thread.
  public convenience init(
    dataDirectory: String, restartsByItself: Bool = true,
    report: @escaping @Sendable (ClusterEvent) -> Void = { _ in }
  ) {
    self.init(
      dataDirectory: dataDirectory, survivesPowerLoss: true, restartsByItself: restartsByItself,
      report: report)
  }

  /// For tests, which need not wait for the disk: their data must survive a crash of the server
  /// only.
  init(
    dataDirectory: String, survivesPowerLoss: Bool, restartsByItself: Bool = true,
    report: @escaping @Sendable (ClusterEvent) -> Void = { _ in }
  ) {
    directory = dataDirectory
    self.survivesPowerLoss = survivesPowerLoss
    self.restartsByItself = restartsByItself
    self.report = report
  }

  deinit { stop() }

  /// Starts the server and waits until it accepts connections.
  public func start() throws(ClusterFailure) {
    do throws(ClusterFailure) {
      let (home, account) = try open()
      data = home + "/data"
      // A running server is not a child of this process: an earlier version left it, or it is
      // stopping because its gateway was killed. It must end first.
      if try Leftovers.end(on: data) {
        notes.append("ended the PostgreSQL that an earlier gateway had left")
      }
      let binaries = try ServerBinaries.find(version: dataVersion)
      if dataVersion == nil { try create(home, binaries, account) }
      try launch(binaries, account, home: home)
    } catch {
      stop()
      throw error
    }
  }

  /// Takes the directory's lock, and returns the folder of the server and its account.
  func open() throws(ClusterFailure) -> (home: String, account: Account?) {
    try Folder.make(directory, mode: 0o755)
    let directory = try Folder.resolve(directory)
    do throws(LockFile.Refusal) {
      lock = try LockFile(directory + "/gateway.lock")
    } catch {
      switch error {
      case .held(let process): throw .inUse(directory: self.directory, process: process)
      case .failed(let failure): throw failure
      }
    }
    let account = try account(for: directory + "/postgres")
    return (try home(in: directory, for: account), account)
  }

  /// Starts the server on `data`, or on the folder of that name in `home`.
  ///
  /// - Parameter options: of the server's command line.
  func launch(
    _ binaries: ServerBinaries, _ account: Account?, home: String, folder: String? = nil,
    options: [String] = []
  ) throws(ClusterFailure) {
    if let folder { data = folder }
    let server = try Server(
      binaries: binaries, account: account, data: data,
      socketFolder: socketFolder(in: home, for: account), log: directory + "/postgres.log",
      survivesPowerLoss: survivesPowerLoss, options: options)
    let keeper = Keeper(restartsByItself: restartsByItself, report: report)
    try keeper.begin(server)
    self.keeper = keeper
    try awaitReady(after: 0)
    url = PrivateCluster.url(socketFolder: server.socketFolder)
  }

  /// Stops the server with a fast shutdown: it closes all connections and writes a checkpoint.
  public func stop() {
    stopServer()
    if let folder = privateSocketFolder {
      // SAFETY: the path is copied into a C string for the call.
      unsafe _ = rmdir(folder)
      privateSocketFolder = nil
    }
    lock = nil
  }

  /// Stops the server, and keeps the directory's lock.
  func stopServer() {
    keeper?.stop()
    keeper = nil
    url = ""
  }

  /// For tests: ends the server without a checkpoint, as a crash does, and starts it again on the
  /// same socket.
  public func crashAndRestart() throws(ClusterFailure) {
    guard let keeper else { return }
    let before = keeper.readyCount
    keeper.send(SIGQUIT)
    keeper.start()
    try awaitReady(after: before)
  }

  private func awaitReady(after count: Int) throws(ClusterFailure) {
    guard let keeper else { return }
    let isOver = waitUntil(milliseconds: PrivateCluster.startMilliseconds) {
      keeper.readyCount > count || keeper.hasEnded
    }
    if let failure = keeper.failure { throw failure }
    if !isOver {
      throw .tooSlow(operation: "start", seconds: PrivateCluster.startMilliseconds / 1_000)
    }
  }

  /// Removes libpq's variables (PGPORT, PGSERVICE, PGOPTIONS, …) from this process's environment:
  /// they are meant for another server, and most would prevent a connection to this one. Call it
  /// while only one thread runs.
  public static func forgetClientSettings() { Environment.remove(prefix: "PG") }

  /// Returns the URL of the server that a running gateway has started in this directory. Throws
  /// `notRunning` if there is none.
  public static func attach(dataDirectory: String) throws(ClusterFailure) -> String {
    guard let data = try? Folder.resolve(dataDirectory + "/postgres/data"),
      let server = Postmaster.running(on: data), server.isReady
    else { throw .notRunning(directory: dataDirectory) }
    return url(socketFolder: server.socketFolder)
  }

  private static func url(socketFolder: String) -> String {
    let folder = socketFolder.percentEncoded(allowing: "/")
    return "postgresql:///chirrup?host=\(folder)&port=\(Server.port)" + owner
  }

  /// Another database of the server of `url`, as the same user.
  public static func url(_ url: String, of database: String) -> String {
    let name = database.percentEncoded(allowing: "")
    return url.replacing("postgresql:///chirrup?", with: "postgresql:///\(name)?")
  }

  /// The user of `url`, a superuser that owns the tables.
  private static let owner = "&user=chirrup"

  /// The same server as the gateway's role, which owns nothing. The migrations create the role.
  public static func gatewayURL(_ url: String) -> String {
    url.hasSuffix(owner) ? url + "_gateway" : url
  }

  // MARK: Directories

  /// The account that runs the server; nil unless this process is root. Existing data keeps its
  /// owner.
  private func account(for home: String) throws(ClusterFailure) -> Account? {
    guard getuid() == 0 else { return nil }
    if let owner = Folder.owner(of: home + "/data"), owner.user != 0 { return owner }
    return try Account.unprivileged()
  }

  /// The directory that the server's account owns. If the account cannot reach it (for example a
  /// home directory of mode 0700 above it), it is under /var/lib/chirrup, with a symbolic link.
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
      notes.append("the database is in \(home), because its user cannot access \(directory)")
    }
    return home
  }

  /// The directory of the socket, whose path may have at most 107 bytes (unix(7)).
  func socketFolder(
    in home: String, for account: Account?
  ) throws(ClusterFailure) -> String {
    if let privateSocketFolder { return privateSocketFolder }
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
    notes.append("the socket is in \(short), because the path \(home) is too long for a socket")
    return short
  }

  private var dataVersion: Int? { UpgradeFolders.version(of: data) }

  // MARK: Creation

  /// Creates the database cluster in `data.new` and renames it to `data` when it is complete.
  private func create(
    _ home: String, _ binaries: ServerBinaries, _ account: Account?
  ) throws(ClusterFailure) {
    guard !Folder.exists(home + Restoring.folder) else {
      throw .unfinishedRestore(directory: directory)
    }
    guard UpgradeFolders(home: home).state == .missing else {
      throw .unfinishedUpgrade(directory: directory)
    }
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
}
