import Glibc

/// Ends the processes that still run on an unlocked data directory: a server of an earlier gateway,
/// or backends whose server was killed. Backends keep the shared memory attached, which prevents a
/// new server from starting (“pre-existing shared memory block is still in use”).
enum Leftovers {
  /// The signals for a server and the milliseconds to wait after each: fast shutdown, immediate
  /// shutdown, kill. After the last two the next start recovers.
  private static let serverSteps = [(SIGINT, 30_000), (SIGQUIT, 10_000), (SIGKILL, 5_000)]
  /// A backend without its server need not shut down in an orderly way.
  private static let backendSteps = [(SIGQUIT, 1_000), (SIGKILL, 5_000)]

  /// - Returns: whether a server was running.
  static func end(on data: String) throws(ClusterFailure) -> Bool {
    let server = Postmaster.running(on: data)
    if let server { try end(serverSteps) { isOurs(server.process, data) ? [server.process] : [] } }
    try end(backendSteps) { processes(on: data) }
    return server != nil
  }

  private static func end(
    _ steps: [(signal: Int32, milliseconds: Int)], _ left: () -> [pid_t]
  ) throws(ClusterFailure) {
    var processes = left()
    for (signal, milliseconds) in steps where !processes.isEmpty {
      for process in processes { kill(process, signal) }
      _ = waitUntil(milliseconds: milliseconds) {
        processes = left()
        return processes.isEmpty
      }
    }
    guard let one = processes.first else { return }
    throw .tooSlow(operation: "end process \(one) of an earlier start", seconds: 5)
  }

  /// The PostgreSQL processes whose working directory is the data directory. Other processes there,
  /// such as a shell, are left alone.
  private static func processes(on data: String) -> [pid_t] {
    Folder.children(of: "/proc").compactMap { pid_t($0) }.filter { isOurs($0, data) }
  }

  private static func isOurs(_ process: pid_t, _ data: String) -> Bool {
    Folder.target(ofLink: "/proc/\(process)/cwd") == data
      && Folder.read("/proc/\(process)/comm")?.hasPrefix("postgres") == true
  }
}

/// Checks the condition every 5 ms. False if the time is over.
func waitUntil(milliseconds: Int, _ condition: () -> Bool) -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + .milliseconds(milliseconds)
  while !condition() {
    if clock.now >= deadline { return false }
    usleep(5_000)
  }
  return true
}
