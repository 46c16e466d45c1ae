import Glibc

/// What still runs on a data folder that nobody holds: a server that an earlier gateway left, or
/// backends whose server was killed. These keep its shared memory, and with it no new server starts
/// (“pre-existing shared memory block is still in use”).
enum Leftovers {
  /// Milliseconds for each way to ask, from an orderly end to one that cannot be refused. After
  /// the last two the next start recovers.
  private static let serverSteps = [(SIGINT, 30_000), (SIGQUIT, 10_000), (SIGKILL, 5_000)]
  /// A backend without its server has nothing to put in order.
  private static let backendSteps = [(SIGQUIT, 1_000), (SIGKILL, 5_000)]

  /// - Returns: whether a server was there.
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

  /// Every process of PostgreSQL works in its data folder. So may somebody's shell, which stays.
  private static func processes(on data: String) -> [pid_t] {
    Folder.children(of: "/proc").compactMap { pid_t($0) }.filter { isOurs($0, data) }
  }

  private static func isOurs(_ process: pid_t, _ data: String) -> Bool {
    Folder.target(ofLink: "/proc/\(process)/cwd") == data
      && Folder.read("/proc/\(process)/comm")?.hasPrefix("postgres") == true
  }
}

/// Looks every 5 ms. False when the time is over.
func waitUntil(milliseconds: Int, _ condition: () -> Bool) -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + .milliseconds(milliseconds)
  while !condition() {
    if clock.now >= deadline { return false }
    usleep(5_000)
  }
  return true
}
