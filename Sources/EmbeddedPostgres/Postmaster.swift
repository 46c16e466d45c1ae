import Glibc

/// A running server, read from `postmaster.pid` in its data directory (manual: “Starting the
/// Database Server”). The lines are: process id, data directory, start time, port, socket
/// directory, listen address, shared memory key, status.
struct Postmaster: Equatable {
  var process: pid_t
  var socketFolder: String
  var isReady: Bool

  init?(pidFile text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 1, let process = pid_t(lines[0].filter { $0.isNumber }), process > 1 else {
      return nil
    }
    self.process = process
    socketFolder = lines.count > 4 ? String(lines[4]) : ""
    isReady = lines.count > 7 && lines[7].hasPrefix("ready")
  }

  /// The server of this data directory, if one is running. A file left by a crash may contain a
  /// process id that was reused; a server is recognised by its working directory, its data.
  static func running(on data: String) -> Postmaster? {
    guard let text = Folder.read(data + "/postmaster.pid"), let server = Postmaster(pidFile: text),
      Folder.target(ofLink: "/proc/\(server.process)/cwd") == data
    else { return nil }
    return server
  }
}
