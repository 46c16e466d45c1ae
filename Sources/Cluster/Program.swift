import Glibc

/// Runs the server's programs: without a shell, with an environment of our own, in a session of
/// their own, with no signal blocked or ignored, and as another user where that is asked for.
///
/// `Kernel.ChildProcess` is not used because it ends with its owner: this server outlives a crash
/// of the gateway.
struct Program {
  var path: String
  var arguments: [String]
  /// nil: as ourselves.
  var account: Account?
  /// Bytes for its standard input; at most what fits into a pipe.
  var input = ""

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
      try spawn(input: inputReader, output: outputWriter)
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

  /// Starts it in a session of its own, so that the terminal's Ctrl-C does not reach it.
  func startDetached(log: Int32) throws(ClusterFailure) -> pid_t {
    let (reader, writer) = try Program.pipe()
    close(writer)
    defer { close(reader) }
    return try spawn(input: reader, output: log)
  }

  private var name: String { String(path.split(separator: "/").last ?? "") }

  private func spawn(input: Int32, output: Int32) throws(ClusterFailure) -> pid_t {
    var command = [path] + arguments
    if let account {
      command =
        [
          // Another user may not enter the folder we are in.
          "env", "-C", "/", "setpriv", "--reuid=\(account.user)", "--regid=\(account.group)",
          "--clear-groups",
          "--no-new-privs", "--",
        ] + command
    }
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    // SAFETY: both objects are initialised here and destroyed below; libc copies what it is given.
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, 2)
    var none = sigset_t()
    var all = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | 0x80  // SETSID
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

    let words = unsafe command.map { unsafe strdup($0) } + [nil]
    let environment = unsafe [
      strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"), strdup("LC_ALL=C"),
      strdup("TZ=UTC"), nil,
    ]
    defer {
      // SAFETY: the copies are not used after the call.
      unsafe words.forEach { unsafe free($0) }
      unsafe environment.forEach { unsafe free($0) }
    }
    var process: pid_t = 0
    // SAFETY: both arrays end with nil and live during the call.
    let failure = unsafe posix_spawnp(
      &process, command[0], &actions, &attributes, words, environment)
    guard failure == 0 else {
      throw .system(operation: "start", path: command[0], reason: systemText(failure))
    }
    return process
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
struct Account: Equatable {
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
