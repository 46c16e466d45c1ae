import Glibc

/// The configuration of the private server, with which `Keeper` launches it.
struct Server: Sendable {
  var binaries: ServerBinaries
  var account: Account?
  var data: String
  var socketFolder: String
  var log: String
  var survivesPowerLoss: Bool
  /// More options of the command line, which precede those of configuration files.
  var options: [String] = []

  func launch() throws(ClusterFailure) -> pid_t {
    // No server runs here, so a crash left this file, and another process may have its id by now.
    // SAFETY: the path is copied into a C string for the call.
    unsafe _ = unlink(data + "/postmaster.pid")
    let file = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw .system(operation: "open", path: log, reason: systemText(errno))
    }
    defer { close(file) }
    let quoted = "\"" + socketFolder.replacing("\"", with: "\"\"") + "\""
    // The death signal INT is a fast shutdown with a checkpoint, also after a kill of the gateway.
    return try Program(
      path: binaries.postgres,
      arguments: [
        "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories=\(quoted)",
        "-c", "unix_socket_permissions=0700", "-c", "port=\(Server.port)",
        // Required for the durability of acknowledged messages, so no configuration file may change
        // it.
        "-c", "fsync=\(survivesPowerLoss ? "on" : "off")", "-c", "synchronous_commit=on", "-c",
        "full_page_writes=on", "-c", "recovery_init_sync_method=\(Server.recoverySync)",
      ] + (survivesPowerLoss ? [] : Server.forTests) + options, account: account, deathSignal: "INT"
    ).start(output: file)
  }

  /// All tests of a process share one server, each with connections of its own.
  private static let forTests = ["-c", "max_connections=400"]

  /// Before crash recovery the server syncs its data directory: with fsync 2,000 files one by one
  /// (2.4 to 4.3 s on a busy disk), with syncfs the file system at once (0.3 to 0.8 s). syncfs
  /// reports errors since Linux 5.8.
  private static let recoverySync =
    syncMethod(release: Folder.read("/proc/sys/kernel/osrelease") ?? "")

  static func syncMethod(release: String) -> String {
    let version = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
    return version.count == 2 && (version[0], version[1]) >= (5, 8) ? "syncfs" : "fsync"
  }

  /// Part of the socket's name only: the server listens on no network.
  static let port = 5432

  /// The reason for the server's end from its log, as one line; nil if the log has none. Each line
  /// begins with the time and the process id in brackets (the default `log_line_prefix`).
  func lastWords(of process: pid_t, _ end: ProcessEnd) -> String? {
    Server.lastWords(of: process, in: Folder.read(log) ?? "", isKilled: end.signal == SIGKILL)
  }

  /// - Parameter isKilled: the server got SIGKILL and could not log a reason.
  static func lastWords(
    of process: pid_t, in log: String, isKilled: Bool = false
  ) -> String? {
    var panic: String?
    var fatal: String?
    var word: String?
    var isThisStart = false
    for line in log.split(separator: "\n") {
      let isItsOwn = line.contains("[\(process)]")
      // Skip the lines of earlier servers.
      isThisStart = isThisStart || isItsOwn
      guard isThisStart else { continue }
      if let text = message(in: line, after: "PANIC:") { panic = text }
      guard isItsOwn else { continue }
      if let text = message(in: line, after: "FATAL:") { fatal = text }
      if !isKilled, let text = message(in: line, after: "LOG:"),
        !text.hasSuffix("is shut down"), !text.hasSuffix("ready to accept connections"),
        word?.hasPrefix("received") != true
      {
        // A “received … shutdown request” explains more than the lines after it.
        word = text
      }
    }
    // Errors in the configuration are logged before the line prefix is set.
    let bare = log.split(separator: "\n").last.flatMap { message(in: $0, after: "FATAL:") }
    return (panic ?? fatal ?? word ?? bare).map { String($0.prefix(300)) }
  }

  private static func message(in line: Substring, after level: String) -> String? {
    guard let range = line.firstRange(of: level) else { return nil }
    return String(line[range.upperBound...].drop { $0 == " " })
  }
}

/// The wait status of a process (waitpid(2)).
struct ProcessEnd: Equatable {
  var word: Int32

  /// The macros of wait(2): the low seven bits are the signal, 0 for an exit.
  var signal: Int32? { word & 0x7F == 0 ? nil : word & 0x7F }
  var status: Int32 { word >> 8 & 0xFF }

  var description: String {
    guard let signal else { return "ended with status \(status)" }
    let name = [SIGQUIT: "SIGQUIT", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGSEGV: "SIGSEGV"][
      signal]
    if signal == SIGKILL {
      return "was killed (SIGKILL), perhaps because the system ran out of memory"
    }
    return "was ended by signal \(signal)" + (name.map { " (\($0))" } ?? "")
  }
}
