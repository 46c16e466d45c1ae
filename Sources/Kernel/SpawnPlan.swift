import CLinux

/// The C arguments of posix_spawn(3): file actions, attributes, and string arrays.
@safe struct SpawnPlan: ~Copyable {
  private var actions = unsafe posix_spawn_file_actions_t()
  private var attributes = posix_spawnattr_t()

  init() {
    // SAFETY: both are initialised here and destroyed once, in `deinit`.
    _ = unsafe posix_spawn_file_actions_init(&actions)
    _ = unsafe posix_spawnattr_init(&attributes)
  }

  deinit {
    // SAFETY: initialised in `init`; the copies refer to the same heap blocks, which are freed
    // once.
    var actions = unsafe actions
    var attributes = attributes
    _ = unsafe posix_spawn_file_actions_destroy(&actions)
    _ = unsafe posix_spawnattr_destroy(&attributes)
  }

  mutating func prepare(
    _ command: Command, input: Int32?, captureTo descriptor: Int32
  ) throws(Errno) {
    // SAFETY: `actions` and `attributes` are initialised; the calls copy the given paths and sets.
    var input = input
    if case .descriptor(let number) = command.input { input = number }
    if case .file(let path) = command.input {
      unsafe try check(posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0))
    } else if let input {
      unsafe try check(posix_spawn_file_actions_adddup2(&actions, input, 0))
    } else {
      unsafe try check(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0))
    }
    try redirect(1, command.output, descriptor)
    try redirect(2, command.errors, descriptor)
    // After the redirections, so that no other descriptor reaches the child.
    unsafe try check(posix_spawn_file_actions_addclosefrom_np(&actions, 3))
    for (index, path) in command.newFiles.enumerated() {
      let flags = O_WRONLY | O_CREAT | O_EXCL
      unsafe try check(
        posix_spawn_file_actions_addopen(&actions, Int32(3 + index), path, flags, 0o600))
    }
    if let directory = command.workingDirectory {
      unsafe try check(posix_spawn_file_actions_addchdir_np(&actions, directory))
    }
    // The child must not inherit this process's blocked signals and ignored SIGPIPE.
    var none = sigset_t()
    var all = sigset_t()
    _ = unsafe sigemptyset(&none)
    _ = unsafe sigfillset(&all)
    unsafe try check(posix_spawnattr_setsigmask(&attributes, &none))
    unsafe try check(posix_spawnattr_setsigdefault(&attributes, &all))
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    if command.hasOwnGroup {
      flags |= POSIX_SPAWN_SETPGROUP
      unsafe try check(posix_spawnattr_setpgroup(&attributes, 0))
    }
    if command.hasOwnSession { flags |= spawnInSession }
    unsafe try check(posix_spawnattr_setflags(&attributes, Int16(flags)))
  }

  mutating func run(_ command: Command) throws(Errno) -> Int32 {
    let arguments = CStrings([command.executable] + command.arguments)
    let environment = command.environment.map { CStrings($0) }
    var identifier: Int32 = 0
    // SAFETY: the arrays end with nil and live until the call returns.
    let failure = unsafe arguments.withPointers { arguments in
      guard let environment else {
        return unsafe posix_spawnp(
          &identifier, command.executable, &actions, &attributes, arguments,
          chirrup_environment())
      }
      return unsafe environment.withPointers { environment in
        unsafe posix_spawnp(
          &identifier, command.executable, &actions, &attributes, arguments, environment)
      }
    }
    try check(failure)
    return identifier
  }

  private mutating func redirect(
    _ number: Int32, _ output: Command.Output, _ descriptor: Int32
  ) throws(Errno) {
    // SAFETY: as in `prepare`.
    switch output {
    case .inherit: break
    case .discard:
      unsafe try check(posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0))
    case .capture:
      unsafe try check(posix_spawn_file_actions_adddup2(&actions, descriptor, number))
    case .descriptor(let own):
      unsafe try check(posix_spawn_file_actions_adddup2(&actions, own, number))
    case .file(let path):
      let flags = O_WRONLY | O_CREAT | O_APPEND
      unsafe try check(posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600))
    }
  }
}

extension Command {
  var capturesSomething: Bool {
    for output in [output, errors] {
      if case .capture = output { return true }
    }
    return false
  }
}

/// POSIX_SPAWN_SETSID of spawn.h, which is declared only with _GNU_SOURCE.
private let spawnInSession: Int32 = 0x80

/// These functions return the error number instead of setting errno.
private func check(_ failure: Int32) throws(Errno) {
  if failure != 0 { throw Errno(rawValue: failure) }
}

/// A nil-terminated array of C strings.
@safe private final class CStrings {
  private var pointers: [UnsafeMutablePointer<CChar>?]

  init(_ strings: [String]) {
    // SAFETY: each copy is freed in `deinit`.
    unsafe pointers = strings.map { unsafe strdup($0) } + [nil]
  }

  deinit {
    // SAFETY: allocated by strdup, freed once.
    for index in unsafe pointers.indices { unsafe free(pointers[index]) }
  }

  func withPointers<Result>(
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    // SAFETY: the array does not change while it is lent, and it is never empty.
    unsafe pointers.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { preconditionFailure("the list ends with nil") }
      return unsafe body(base)
    }
  }
}
