import Glibc

/// A file that this process holds locked (flock(2)) until the value is released, or the process has
/// ended. It contains the process id of its holder.
struct LockFile: ~Copyable {
  enum Refusal: Error {
    /// By this process, if the file says which.
    case held(process: Int32?)
    case failed(ClusterFailure)
  }

  private let file: Int32

  init(_ path: String) throws(Refusal) {
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw .failed(.system(operation: "open", path: path, reason: systemText(errno)))
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      let holder = Folder.read(path).flatMap { Int32($0.prefix { $0.isNumber }) }
      throw .held(process: holder)
    }
    ftruncate(file, 0)
    let text = Array("\(getpid())\n".utf8)
    // SAFETY: the buffer has `count` bytes.
    unsafe _ = text.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
    self.file = file
  }

  deinit { close(file) }
}
