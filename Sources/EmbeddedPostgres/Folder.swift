import Glibc
import Kernel

/// The file system calls of the private PostgreSQL.
enum Folder {
  static func exists(_ path: String) -> Bool {
    // SAFETY: the path is copied into a C string for the call.
    unsafe access(path, F_OK) == 0
  }

  static func isExecutable(_ path: String) -> Bool {
    // SAFETY: as above.
    unsafe access(path, X_OK) == 0
  }

  /// Creates the folder and its missing parents.
  static func make(_ path: String, mode: mode_t) throws(ClusterFailure) {
    if exists(path) { return }
    let above = path.split(separator: "/").dropLast().joined(separator: "/")
    if !above.isEmpty { try make((path.hasPrefix("/") ? "/" : "") + above, mode: 0o755) }
    // SAFETY: as above.
    guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
      throw .system(operation: "make", path: path, reason: systemText(errno))
    }
  }

  /// Creates a folder of mode 0700 with an unguessable name, so that nobody can have placed a link
  /// there before.
  static func makeUnique(_ prefix: String) throws(ClusterFailure) -> String {
    var name = Array((prefix + "XXXXXX").utf8CString)
    // SAFETY: the array ends with NUL and is ours to change.
    guard unsafe mkdtemp(&name) != nil else {
      throw .system(operation: "make", path: prefix, reason: systemText(errno))
    }
    return String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  static func give(_ path: String, to account: Account?) throws(ClusterFailure) {
    guard let account else { return }
    // SAFETY: as above. lchown does not follow a link.
    guard unsafe lchown(path, account.user, account.group) == 0 else {
      throw .system(operation: "change the owner of", path: path, reason: systemText(errno))
    }
  }

  static func owner(of path: String) -> Account? {
    var status = stat()
    // SAFETY: `status` is filled during the call.
    guard unsafe stat(path, &status) == 0 else { return nil }
    return Account(user: status.st_uid, group: status.st_gid)
  }

  /// The absolute path, with symbolic links resolved.
  static func resolve(_ path: String) throws(ClusterFailure) -> String {
    // SAFETY: realpath returns a new C string, freed here.
    guard let text = unsafe realpath(path, nil) else {
      throw .system(operation: "open", path: path, reason: systemText(errno))
    }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  static func target(ofLink path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    // SAFETY: readlink writes at most `count` bytes.
    let count = unsafe buffer.withUnsafeMutableBytes {
      guard let start = $0.baseAddress else { return 0 }
      return unsafe readlink(path, start.assumingMemoryBound(to: CChar.self), $0.count)
    }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  /// The last 64 KiB of a text file; nil if it cannot be opened. Symbolic links are not followed.
  static func read(_ path: String) -> String? {
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Read the end of a long log, and shorter files whole.
    if lseek(file, -off_t(buffer.count), SEEK_END) < 0 { lseek(file, 0, SEEK_SET) }
    // SAFETY: the buffer has `count` bytes.
    let count = unsafe Glibc.read(file, &buffer, buffer.count)
    return count >= 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  /// The names in a folder, sorted, without hidden ones; empty if the folder does not exist.
  static func children(of folder: String) -> [String] {
    (try? FolderListing.names(in: folder)) ?? []
  }
}

extension Folder {
  /// Free bytes of the file system for users other than root.
  static func freeBytes(_ path: String) throws(ClusterFailure) -> Int64 {
    var status = statvfs()
    // SAFETY: the path is copied into a C string, and `status` is filled during the call.
    guard unsafe statvfs(path, &status) == 0 else {
      throw .system(operation: "examine", path: path, reason: systemText(errno))
    }
    return Int64(status.f_bavail) * Int64(status.f_frsize)
  }

  /// The bytes that a folder's files occupy.
  static func bytes(of path: String) throws(ClusterFailure) -> Int64 {
    let output = try Program(
      path: "du", arguments: ["--summarize", "--block-size=1", "--", path]
    ).runChecked(seconds: 600)
    guard let bytes = Int64(output.prefix { $0.isNumber }) else {
      throw .program(name: "du", output: output)
    }
    return bytes
  }

  /// The same beside a server, which deletes files meanwhile: du then fails.
  static func bytesInUse(of path: String) throws(ClusterFailure) -> Int64 {
    for _ in 1..<5 {
      if let bytes = try? bytes(of: path) { return bytes }
    }
    return try bytes(of: path)
  }

  /// Writes a new file of mode 0600, and waits until it is on the disk.
  static func write(
    _ text: String, to path: String, for account: Account?
  ) throws(ClusterFailure) {
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw .system(operation: "open", path: path, reason: systemText(errno))
    }
    defer { close(file) }
    let bytes = Array(text.utf8)
    // SAFETY: the buffer has `count` bytes.
    let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
    guard count == bytes.count, fsync(file) == 0 else {
      throw .system(operation: "write", path: path, reason: systemText(errno))
    }
    try give(path, to: account)
  }

  /// Renames within one file system, and waits until the new name is on the disk.
  static func rename(_ path: String, to target: String) throws(ClusterFailure) {
    // SAFETY: the paths are copied into C strings for the calls.
    guard unsafe Glibc.rename(path, target) == 0 else {
      throw .system(operation: "rename", path: path, reason: systemText(errno))
    }
    let above = target.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    let file = unsafe open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else {
      throw .system(operation: "open", path: above, reason: systemText(errno))
    }
    defer { close(file) }
    guard fsync(file) == 0 else {
      throw .system(operation: "write", path: above, reason: systemText(errno))
    }
  }

  /// Deletes a folder with its contents.
  static func remove(_ path: String) throws(ClusterFailure) {
    try Program(path: "rm", arguments: ["-rf", "--", path]).runChecked(seconds: 3_600)
  }

  /// The names in a folder, sorted, without hidden ones.
  static func names(in folder: String) throws(ClusterFailure) -> [String] {
    do throws(Errno) {
      return try FolderListing.names(in: folder)
    } catch {
      throw .system(operation: "read", path: folder, reason: error.text)
    }
  }
}
