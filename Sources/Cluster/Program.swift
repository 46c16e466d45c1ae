import Glibc
import Kernel

/// Runs the server's programs: without a shell of the user's, with an environment of our own, in a
/// session of their own, with no signal blocked or ignored, with no descriptor but the three, and
/// as another user where that is asked for.
///
/// Nothing outlives us: each gets `deathSignal` when the thread that started it ends, however it
/// ends (prctl(2), PR_SET_PDEATHSIG).
struct Program {
  var path: String
  var arguments: [String]
  /// nil: as ourselves.
  var account: Account?
  /// Bytes for its standard input; at most what fits into a pipe.
  var input = ""
  /// Its name without SIG, for setpriv(1).
  var deathSignal = "TERM"

  struct Ended {
    var succeeded: Bool
    /// Standard output and error together, cut at 16 KiB.
    var output: String
  }

  /// Waits for its end, at most `seconds`; then it is killed.
  func run(seconds: Int) throws(ClusterFailure) -> Ended {
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
      let left = clock.now.duration(to: deadline).components
      var interest = pollfd(fd: outputReader, events: Int16(POLLIN), revents: 0)
      // SAFETY: one descriptor.
      let ready = unsafe poll(&interest, 1, Int32(max(0, left.seconds * 1000 + 1)))
      if ready < 0, errno == EINTR { continue }
      if ready == 0 || clock.now >= deadline {
        kill(process, SIGKILL)
        _ = Program.wait(for: process)
        throw .tooSlow(operation: "end \(name)", seconds: seconds)
      }
      // SAFETY: the buffer has `count` bytes.
      let count = unsafe read(outputReader, &buffer, buffer.count)
      if count <= 0 { break }
      if output.count < 16_384 { output += buffer[..<count] }
    }
    let status = Program.wait(for: process)
    return Ended(succeeded: status == 0, output: String(decoding: output, as: UTF8.self))
  }

  /// Runs it to its end; anything but success is an error that carries its output.
  func runChecked(seconds: Int) throws(ClusterFailure) {
    let ended = try run(seconds: seconds)
    guard ended.succeeded else { throw .program(name: name, output: ended.output) }
  }

  /// Starts it; the caller reaps it.
  func start(input: Command.Input = .nothing, output: Int32) throws(ClusterFailure) -> pid_t {
    var command = Command("setpriv", words)
    command.environment = [
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin", "LC_ALL=C", "TZ=UTC",
    ]
    // Another user may not enter the folder we are in.
    if account != nil { command.workingDirectory = "/" }
    command.input = input
    command.output = .descriptor(output)
    command.errors = .descriptor(output)
    // The terminal's Ctrl-C does not reach it.
    command.hasOwnSession = true
    do throws(Errno) {
      return try command.start()
    } catch {
      throw .system(operation: "start", path: "setpriv", reason: systemText(error.rawValue))
    }
  }

  private var name: String { String(path.split(separator: "/").last ?? "") }

  /// What setpriv(1) gets. The shell ends at once if we ended before the death signal was set: then
  /// its parent is another one.
  private var words: [String] {
    var words = ["--pdeathsig", deathSignal]
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

/// An unprivileged user that runs the server when we are root.
struct Account: Equatable, Sendable {
  var user: uid_t
  var group: gid_t

  /// `postgres`, which the distribution's package makes, or else `nobody`.
  static func unprivileged() throws(ClusterFailure) -> Account {
    for name in ["postgres", "nobody"] {
      // SAFETY: the entry is read before anything else can ask for one: this runs at start, on one
      // thread.
      if let entry = unsafe getpwnam(name), unsafe entry.pointee.pw_uid != 0 {
        return unsafe Account(user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
      }
    }
    throw .noAccount
  }
}

func systemText(_ code: Int32) -> String {
  // SAFETY: strerror returns a C string that is copied at once.
  guard let text = unsafe strerror(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}
