import CLinux

/// A regular file, for threads that may block. No call follows a symbolic link in the last part of
/// a path.
public struct BlockingFile: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  public enum Access: Sendable {
    case read, write
    /// Creates the file if it is missing, with mode 0600.
    case create
  }

  public init(_ path: String, _ access: Access) throws(Errno) {
    let flags =
      switch access {
      case .read: O_RDONLY
      case .write: O_RDWR
      case .create: O_RDWR | O_CREAT
      }
    // SAFETY: the path is copied into a C string for the call.
    descriptor = FileDescriptor(
      owning: try retrying { unsafe chirrup_open_file(path, flags) })
  }

  /// For libraries that read the file by themselves; it is closed with this value.
  public var rawValue: Int32 { descriptor.rawValue }

  public func byteCount() throws(Errno) -> Int64 { Int64(try status().st_size) }

  /// Whether the path still names this file.
  public func isAt(_ path: String) throws(Errno) -> Bool {
    let own = try status()
    guard let found = try BlockingFile.status(of: path) else { return false }
    return own.st_ino == found.st_ino && own.st_dev == found.st_dev
  }

  /// Takes the lock of the file (flock), which ends with this value; false: another one has it.
  public func lock() throws(Errno) -> Bool {
    do throws(Errno) {
      let number = descriptor.rawValue
      _ = try retrying { flock(number, LOCK_EX | LOCK_NB) }
      return true
    } catch .wouldBlock {
      return false
    }
  }

  /// Ends the lock before this value ends.
  public func unlock() throws(Errno) {
    let number = descriptor.rawValue
    _ = try retrying { flock(number, LOCK_UN) }
  }

  /// Reads at most `count` bytes from the offset on; fewer at the end of the file.
  public func read(_ count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
    var failure: Errno?
    let number = descriptor.rawValue
    // SAFETY: the rest of the buffer has `count - filled` bytes, and the kernel has filled the
    // first `filled`.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = 0
      while filled < count, failure == nil {
        do throws(Errno) {
          let got = try retrying {
            unsafe pread(
              number, buffer.baseAddress?.advanced(by: filled), count - filled,
              off_t(offset) + filled)
          }
          if got == 0 { return }
          filled += got
        } catch {
          failure = error
        }
      }
    }
    if let failure { throw failure }
    return bytes
  }

  public func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
    let number = descriptor.rawValue
    var failure: Errno?
    // SAFETY: the pointer and the count describe the rest of the array, which outlives the calls.
    unsafe bytes.withUnsafeBytes { buffer in
      var written = 0
      while written < buffer.count, failure == nil {
        do throws(Errno) {
          written += try retrying {
            unsafe pwrite(
              number, buffer.baseAddress?.advanced(by: written), buffer.count - written,
              off_t(offset) + written)
          }
        } catch {
          failure = error
        }
      }
    }
    if let failure { throw failure }
  }

  /// Cuts the file, or fills it with zeros, to this length.
  public func setByteCount(_ count: Int64) throws(Errno) {
    let number = descriptor.rawValue
    _ = try retrying { ftruncate(number, off_t(count)) }
  }

  /// Waits until the content is on the disk.
  public func synchronize() throws(Errno) {
    let number = descriptor.rawValue
    _ = try retrying { fsync(number) }
  }

  private func status() throws(Errno) -> stat {
    var found = stat()
    let number = descriptor.rawValue
    // SAFETY: `found` is filled during the call.
    _ = try retrying { unsafe fstat(number, &found) }
    return found
  }
}

// MARK: Names

extension BlockingFile {
  /// Nil: there is no such file.
  private static func status(of path: String) throws(Errno) -> stat? {
    var found = stat()
    do throws(Errno) {
      // SAFETY: `found` is filled during the call, and the path is copied into a C string.
      _ = try retrying { unsafe lstat(path, &found) }
      return found
    } catch .noEntry {
      return nil
    }
  }

  /// The bytes of a file; nil: there is none.
  public static func byteCount(of path: String) throws(Errno) -> Int64? {
    try status(of: path).map { Int64($0.st_size) }
  }

  /// When it was changed, in seconds since 1970; nil: there is none.
  public static func changeTime(of path: String) throws(Errno) -> Int64? {
    try status(of: path).map { Int64($0.st_mtim.tv_sec) }
  }

  /// Renames within one file system. The new name is on the disk when both folders are
  /// synchronized.
  public static func rename(_ path: String, to target: String) throws(Errno) {
    // SAFETY: the paths are copied into C strings for the call.
    _ = try retrying { unsafe CLinux.rename(path, target) }
  }

  /// Returns whether there was such a file.
  @discardableResult
  public static func remove(_ path: String) throws(Errno) -> Bool {
    do throws(Errno) {
      // SAFETY: as above.
      _ = try retrying { unsafe unlink(path) }
      return true
    } catch .noEntry {
      return false
    }
  }

  /// Gives a file another name on the same file system.
  public static func link(_ path: String, to target: String) throws(Errno) {
    // SAFETY: as above.
    _ = try retrying { unsafe CLinux.link(path, target) }
  }

  /// Gives a file or folder the owner and group of another one, which needs root.
  public static func setOwner(of path: String, as other: String) throws(Errno) {
    guard let found = try status(of: other) else { throw .noEntry }
    // SAFETY: as above. lchown does not follow a link.
    _ = try retrying { unsafe lchown(path, found.st_uid, found.st_gid) }
  }

  /// Removes an empty folder; one with files stays.
  public static func removeEmptyFolder(_ path: String) {
    // SAFETY: as above.
    _ = unsafe rmdir(path)
  }

  /// Waits until the names in a folder are on the disk.
  public static func synchronizeFolder(_ path: String) throws(Errno) {
    // SAFETY: as above.
    let folder = FileDescriptor(
      owning: try retrying { unsafe chirrup_open_file(path, O_RDONLY | O_DIRECTORY) })
    let number = folder.rawValue
    _ = try retrying { fsync(number) }
  }

  /// Creates a folder of mode 0700; throws `exists` if there is anything of this name.
  public static func makeNewFolder(_ path: String) throws(Errno) {
    // SAFETY: as above.
    _ = try retrying { unsafe mkdir(path, 0o700) }
  }

  /// Creates a folder of mode 0700 with its missing parents, whose names are on the disk then.
  public static func makeFolder(_ path: String) throws(Errno) {
    if try status(of: path) != nil { return }
    let parent = BlockingFile.parent(of: path)
    if parent != path { try makeFolder(parent) }
    do throws(Errno) {
      // SAFETY: as above.
      _ = try retrying { unsafe mkdir(path, 0o700) }
    } catch .exists {
      // Another thread was faster.
    }
    try synchronizeFolder(parent)
  }

  /// The folder of a path.
  public static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
