import CLinux

/// A program to start, with an argument list and without a shell.
public struct Command: Sendable {
  public enum Output: Sendable {
    case inherit
    case discard
    /// Read by `ChildProcess.readOutput`; standard output and standard error may share it.
    case capture
    /// Appended to the file, which is created if needed.
    case file(String)
    /// This descriptor, which stays open in the caller.
    case descriptor(Int32)
  }

  public enum Input: Sendable, Equatable {
    /// /dev/null.
    case nothing
    /// A socket in both directions; `ChildProcess.takeSocket` returns the other end. It closes when
    /// this process ends for any reason, which tells the child to end too.
    case socket
    /// This descriptor, which stays open in the caller.
    case descriptor(Int32)
    /// This file, opened for reading.
    case file(String)
  }

  /// A path, or a name to look up in PATH.
  public var executable: String
  public var arguments: [String]
  /// `NAME=value` pairs; nil for the environment of this process.
  public var environment: [String]?
  public var workingDirectory: String?
  public var input: Input = .nothing
  public var output: Output = .inherit
  public var errors: Output = .inherit
  /// Files that are created for the child, which may write them as its descriptors 3, 4 and so on.
  public var newFiles: [String] = []
  /// Starts a new process group, which a Ctrl-C at the terminal does not reach.
  public var hasOwnGroup = false
  /// Starts a new session without the terminal.
  public var hasOwnSession = false

  public init(_ executable: String, _ arguments: [String] = []) {
    self.executable = executable
    self.arguments = arguments
  }

  /// Starts the program and returns its process id. The caller must reap it (waitpid(2)), captures
  /// nothing, and uses no socket input. The process may outlive the caller.
  public func start() throws(Errno) -> Int32 {
    precondition(!capturesSomething && input != .socket, "only a ChildProcess owns descriptors")
    var plan = SpawnPlan()
    try plan.prepare(self, input: nil, captureTo: -1)
    return try plan.run(self)
  }
}

/// A child process, started by posix_spawn(3), which is safe in a process with threads. It starts
/// with no signal blocked or ignored, and with only the three standard descriptors and `newFiles`
/// open.
///
/// Releasing the value kills the process, so that no child outlives its owner by accident.
public struct ChildProcess: ~Copyable, Sendable {
  public enum ExitStatus: Equatable, Sendable {
    case exited(Int32)
    /// Ended by the signal with this number.
    case signaled(Int32)

    public var isSuccess: Bool { self == .exited(0) }
  }

  public let processIdentifier: Int32
  /// The read end of the captured output.
  private var pipe: FileDescriptor?
  private var socket: FileDescriptor?
  private var status: ExitStatus?

  public static func spawn(_ command: Command) throws(Errno) -> ChildProcess {
    var pipe: FileDescriptor?
    var childEnd: FileDescriptor?
    if command.capturesSomething {
      var ends: [2 of Int32] = [-1, -1]
      // SAFETY: the call writes two descriptors.
      _ = try retrying {
        unsafe withUnsafeMutableBytes(of: &ends) { bytes in
          unsafe pipe2(bytes.baseAddress?.assumingMemoryBound(to: Int32.self), O_CLOEXEC)
        }
      }
      pipe = FileDescriptor(owning: ends[0])
      childEnd = FileDescriptor(owning: ends[1])
    }
    var plan = SpawnPlan()
    guard command.input == .socket else {
      try plan.prepare(command, input: nil, captureTo: childEnd?.rawValue ?? -1)
      let identifier = try plan.run(command)
      return ChildProcess(
        processIdentifier: identifier, pipe: pipe.take(), socket: nil, status: nil)
    }
    let ends = try Sockets.pair()
    try plan.prepare(
      command, input: ends.second.rawValue, captureTo: childEnd?.rawValue ?? -1)
    let identifier = try plan.run(command)
    return ChildProcess(
      processIdentifier: identifier, pipe: pipe.take(), socket: ends.giveFirst(), status: nil)
  }

  /// Runs a program to its end and returns the captured output.
  public static func run(_ command: Command) throws(Errno) -> Finished {
    var child = try spawn(command)
    let output = try child.readOutput()
    return Finished(status: try child.wait(), output: output)
  }

  public struct Finished: Equatable, Sendable {
    public var status: ExitStatus
    public var output: [UInt8]

    public var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// Returns this process's end of `Command.Input.socket` once; it is non-blocking.
  public mutating func takeSocket() -> FileDescriptor? { socket.take() }

  /// Returns the output until all write ends are closed. Blocks.
  public mutating func readOutput() throws(Errno) -> [UInt8] {
    guard let pipe = pipe.take() else { return [] }
    var output: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    let size = chunk.count
    while true {
      // SAFETY: the kernel writes at most `size` bytes into the array.
      let count = try retrying { unsafe CLinux.read(pipe.rawValue, &chunk, size) }
      if count == 0 { return output }
      output.append(contentsOf: chunk[..<count])
    }
  }

  /// Waits for the end of the process. Later calls return the same status.
  public mutating func wait() throws(Errno) -> ExitStatus {
    if let status { return status }
    while true {
      if let ended = try reap(0) { return ended }
    }
  }

  /// Returns the status if the process has ended, without blocking.
  public mutating func poll() throws(Errno) -> ExitStatus? {
    if let status { return status }
    return try reap(WNOHANG)
  }

  /// Sends a signal, unless the process was reaped, because its id may be reused.
  public func send(_ signal: Signal) throws(Errno) {
    guard status == nil else { return }
    let identifier = processIdentifier
    _ = try retrying { kill(identifier, signal.rawValue) }
  }

  private mutating func reap(_ options: Int32) throws(Errno) -> ExitStatus? {
    var word: Int32 = 0
    let identifier = processIdentifier
    // SAFETY: the kernel writes an Int32.
    let ended = try retrying { unsafe waitpid(identifier, &word, options) }
    guard ended == identifier else { return nil }
    // As the macros of wait(2): the low seven bits are the signal, 0 for an exit.
    let signal = word & 0x7F
    status = signal == 0 ? .exited(word >> 8 & 0xFF) : .signaled(signal)
    return status
  }

  deinit {
    guard status == nil else { return }
    _ = kill(processIdentifier, SIGKILL)
    while waitpid(processIdentifier, nil, 0) == -1 && chirrup_errno() == EINTR {}
  }
}
