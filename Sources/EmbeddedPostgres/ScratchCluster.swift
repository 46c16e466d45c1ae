import Glibc
import Synchronization

/// One temporary server for all tests of a process: created for the first test that needs it and
/// removed when the process ends. The next test process removes those of killed ones.
public enum ScratchCluster {
  /// The URL of the shared server. All suites of the process share its databases and roles, so each
  /// creates its own database.
  public static func url() throws(ClusterFailure) -> String {
    let result = shared.withLock { state -> Result<String, ClusterFailure> in
      if let result = state.result { return result }
      let result = Result { () throws(ClusterFailure) in try start(&state) }
      state.result = result
      return result
    }
    return try result.get()
  }

  /// Starts a separate server, for a test that crashes it. The caller stops it and removes it with
  /// `discard`.
  public static func separate() throws(ClusterFailure) -> (
    cluster: PrivateCluster, directory: String
  ) {
    _ = try url()
    let directory = try makeDirectory()
    let cluster = PrivateCluster(dataDirectory: directory, survivesPowerLoss: false)
    try cluster.start()
    return (cluster, directory)
  }

  public static func discard(_ directory: String) { remove(directory) }

  private struct State: ~Copyable {
    var cluster: PrivateCluster?
    var directory = ""
    var result: Result<String, ClusterFailure>?
  }

  private static let shared = Mutex(State())
  private static let prefix = "chirrup-scratch-"

  private static let memory = "/dev/shm"
  private static let disk = "/tmp"

  /// The unit tests create 430 databases of 300 files each: in memory a suite of migrations takes
  /// half the processor time. All of them together need 5.6 GiB.
  private static let parent =
    ((try? Folder.freeBytes(memory)) ?? 0) >= 8 << 30 ? memory : disk

  private static func start(_ state: inout State) throws(ClusterFailure) -> String {
    clearLeftovers()
    let directory = try makeDirectory()
    let cluster = PrivateCluster(dataDirectory: directory, survivesPowerLoss: false)
    state.directory = directory
    try cluster.start()
    state.cluster = cluster
    atexit { ScratchCluster.end() }
    return cluster.url
  }

  private static func makeDirectory() throws(ClusterFailure) -> String {
    let directory = try Folder.makeUnique("\(parent)/\(prefix)\(getpid())-")
    // The server's account must be able to enter.
    // SAFETY: the path is copied into a C string for the call.
    unsafe _ = chmod(directory, 0o755)
    return directory
  }

  private static func end() {
    shared.withLock { state in
      state.cluster?.stop()
      state.cluster = nil
      remove(state.directory)
    }
  }

  private static func clearLeftovers() {
    for folder in [memory, disk] {
      for name in Folder.children(of: folder) where name.hasPrefix(prefix) {
        let owner = name.dropFirst(prefix.count).prefix { $0.isNumber }
        guard let process = pid_t(owner), kill(process, 0) != 0, errno == ESRCH else { continue }
        let directory = "\(folder)/\(name)"
        let left = PrivateCluster(dataDirectory: directory, survivesPowerLoss: false)
        // Start takes over a server that still runs there, in order to stop it.
        if (try? PrivateCluster.attach(dataDirectory: directory)) != nil,
          (try? left.start()) != nil
        {
          left.stop()
        }
        remove(directory)
      }
    }
  }

  private static func remove(_ directory: String) {
    guard [memory, disk].contains(where: { directory.hasPrefix("\($0)/\(prefix)") }) else { return }
    _ = try? Program(path: "rm", arguments: ["-rf", "--", directory]).run(seconds: 60)
  }
}
