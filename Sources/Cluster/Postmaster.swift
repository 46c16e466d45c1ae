import Glibc

/// A server that runs on a data folder, as its `postmaster.pid` tells (manual: “Starting the
/// Database Server”): process, folder, start, port, socket folder, address, shared memory, status,
/// a line each.
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

  /// The server of this folder, if one runs. A file that a crash left names a process that is gone,
  /// or one that has got the number since and works elsewhere: a server's working folder is its
  /// data.
  static func running(on data: String) -> Postmaster? {
    guard let text = Folder.read(data + "/postmaster.pid"), let server = Postmaster(pidFile: text),
      Folder.target(ofLink: "/proc/\(server.process)/cwd") == data
    else { return nil }
    return server
  }
}
