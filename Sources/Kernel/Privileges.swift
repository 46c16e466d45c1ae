import CLinux

/// The rights of this process.
public enum Privileges {
  /// Why the process did not become another user, and what to do.
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  public static var isRoot: Bool { geteuid() == 0 }

  /// Becomes an unprivileged user for good. Only the right to bind ports below 1024 stays. Call it
  /// before other threads start.
  ///
  /// - Parameter directory: a directory that the user needs; it is made, and given to the user
  ///   unless it already contains something of another user.
  public static func become(_ name: String, owning directory: String?) throws(Failure) {
    // SAFETY: the entry is read before any other call; there is no other thread.
    guard let entry = unsafe getpwnam(name) else {
      throw Failure(
        description: "user: there is no user \(name). Create it (useradd --system \(name)), or "
          + "change the setting")
    }
    let (user, group) = unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid)
    guard user != 0 else { throw Failure(description: "user: \(name) is root under another name") }
    if let directory { try give(directory, to: user, group, name) }
    // SAFETY: the name is copied into a C string for the call.
    guard unsafe chirrup_become(name, user, group) == 0 else {
      throw Failure(
        description: "user: this process cannot become \(name): \(Errno(rawValue: chirrup_errno()))"
      )
    }
  }

  private static func give(
    _ directory: String, to user: uid_t, _ group: gid_t, _ name: String
  ) throws(Failure) {
    // SAFETY: the paths are copied into C strings for the calls; `found` is one `stat`.
    var found = stat()
    if unsafe lstat(directory + "/postgres", &found) == 0, found.st_uid != user {
      throw Failure(
        description: "user: \(directory) contains a database of another user. Stop all gateways "
          + "and run once: chown -R \(name) \(directory)")
    }
    _ = unsafe mkdir(directory, 0o700)
    let isDirectory = unsafe lstat(directory, &found) == 0 && found.st_mode & 0o170_000 == 0o040_000
    let isGiven = unsafe found.st_uid == user || lchown(directory, user, group) == 0
    guard isDirectory, isGiven
    else {
      throw Failure(
        description:
          "user: \(directory) cannot be given to \(name): \(Errno(rawValue: chirrup_errno()))")
    }
  }
}
