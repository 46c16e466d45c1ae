import Glibc
import Kernel

/// Runs PostgreSQL's programs: without the user's shell, with a fixed environment, in a new
/// session, with no signal blocked or ignored, with standard input, output and error only, and
/// optionally as another user.
///
/// No program outlives this process: each receives `deathSignal` when the thread that started it
/// ends for any reason (prctl(2), PR_SET_PDEATHSIG).
struct Program {
  var path: String
  var arguments: [String]
  /// The user to run as; nil: that of this process.
  var account: Account?
  /// The working directory; nil: that of this process, or `/` for another user.
  var folder: String?
  /// The standard input; it must fit into a pipe's buffer (64 KiB).
  var input = ""
  /// The signal's name without SIG, for setpriv(1).
  var deathSignal = "TERM"

  struct Exit {
    var succeeded: Bool
    /// Standard output and error together, cut at 16 KiB.
    var output: String
  }

  /// The interval of `meanwhile`.
  private static let tickMilliseconds = 250

  /// Runs the program; kills it after `seconds` and throws `tooSlow`.
  ///
  /// - Parameter meanwhile: called every 250 ms while the program prints nothing.
  func run(seconds: Int, meanwhile: () -> Void = {}) throws(ClusterFailure) -> Exit {
    let (outputReader, outputWriter) = try Program.pipe()
    let (inputReader, inputWriter) = try Program.pipe()
    defer { close(outputReader) }
    _ = unsafe Array(input.utf8).withUnsafeBytes {
      // SAFETY: the buffer is valid during the call.
      unsafe write(inputWriter, $0.baseAddress, $0.count)
    }
    close(inputWriter)
    let spawned = Result { () throws(ClusterFailure) in
      try start(input: .descriptor(inputReader), output: outputWriter)
    }
    close(inputReader)
    close(outputWriter)
    let process = try spawned.get()

    var output: [UInt8] = []
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      var interest = pollfd(fd: outputReader, events: Int16(POLLIN), revents: 0)
      // SAFETY: one descriptor.
      let ready = unsafe poll(&interest, 1, Int32(Program.tickMilliseconds))
      if ready < 0, errno == EINTR { continue }
      if clock.now >= deadline {
        kill(process, SIGKILL)
        _ = Program.wait(for: process)
        throw .tooSlow(operation: "end \(name)", seconds: seconds)
      }
      if ready == 0 {
        meanwhile()
        continue
      }
      // SAFETY: the buffer has `count` bytes.
      let count = unsafe read(outputReader, &buffer, buffer.count)
      if count <= 0 { break }
      if output.count < 16_384 { output += buffer[..<count] }
    }
    let status = Program.wait(for: process)
    return Exit(succeeded: status == 0, output: String(decoding: output, as: UTF8.self))
  }

  /// Runs the program; throws its output unless it succeeds.
  @discardableResult
  func runChecked(
    seconds: Int, meanwhile: () -> Void = {}
  ) throws(ClusterFailure) -> String {
    let ended = try run(seconds: seconds, meanwhile: meanwhile)
    guard ended.succeeded else { throw .program(name: name, output: ended.output) }
    return ended.output
  }

  /// Starts the program; the caller must reap the process.
  func start(input: Command.Input = .nothing, output: Int32) throws(ClusterFailure) -> pid_t {
    var command = Command("setpriv", words)
    command.environment = [
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin", "LC_ALL=C", "TZ=UTC",
    ]
    // The other user may not be allowed to enter the current directory.
    command.workingDirectory = folder ?? (account == nil ? nil : "/")
    command.input = input
    command.output = .descriptor(output)
    command.errors = .descriptor(output)
    // A new session: Ctrl-C of the terminal does not reach it.
    command.hasOwnSession = true
    do throws(Errno) {
      return try command.start()
    } catch {
      throw .system(operation: "start", path: "setpriv", reason: systemText(error.rawValue))
    }
  }

  private var name: String { String(path.split(separator: "/").last ?? "") }

  /// The arguments of setpriv(1). The shell checks that its parent is still this process, which may
  /// have ended before the death signal was set.
  private var words: [String] {
    // The right to bind ports below 1024 (AmbientCapabilities= of a systemd unit) stays with the
    // gateway. With it, another process of the same user could not read the server's /proc entry.
    var words = ["--pdeathsig", deathSignal, "--ambient-caps=-all"]
    if let account {
      words += [
        "--reuid=\(account.user)", "--regid=\(account.group)", "--clear-groups", "--no-new-privs",
      ]
    }
    let script = #"[ "$PPID" = "$0" ] && exec "$@""#
    return words + ["--", "sh", "-c", script, "\(getpid())", path] + arguments
  }

  private static func pipe() throws(ClusterFailure) -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    // SAFETY: the array has the two elements that pipe fills.
    guard unsafe Glibc.pipe(&ends) == 0 else {
      throw .system(operation: "make", path: "a pipe", reason: systemText(errno))
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private static func wait(for process: pid_t) -> Int32 {
    var status: Int32 = 0
    // SAFETY: `status` is written during the call.
    while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
  }
}

/// The unprivileged user that runs the server if this process is root.
struct Account: Equatable, Sendable {
  var user: uid_t
  var group: gid_t

  /// The user `postgres` of the distribution's package, or else `nobody`.
  static func unprivileged() throws(ClusterFailure) -> Account {
    for name in ["postgres", "nobody"] {
      // SAFETY: the entry is static memory, valid until the next call; this runs at start, on one
      // thread.
      if let entry = unsafe getpwnam(name), unsafe entry.pointee.pw_uid != 0 {
        return unsafe Account(user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
      }
    }
    throw .noAccount
  }
}

func systemText(_ code: Int32) -> String {
  // SAFETY: strerror returns a C string, which is copied before any other call.
  guard let text = unsafe strerror(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}
