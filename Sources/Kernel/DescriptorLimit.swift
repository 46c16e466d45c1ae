import CLinux

/// The number of descriptors that this process may have open (RLIMIT_NOFILE): one per connection
/// and a few more.
public enum DescriptorLimit {
  public static var current: Int {
    var limit = rlimit()
    // SAFETY: `limit` is written during the call.
    let result = unsafe getrlimit(resource, &limit)
    return result == 0 ? Int(clamping: limit.rlim_cur) : 0
  }

  /// The limit that `raise` would set.
  public static var most: Int {
    var limit = rlimit()
    // SAFETY: as above.
    return unsafe getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_max) : 0
  }

  /// Raises the soft limit to the hard one and returns the limit that is in force.
  @discardableResult
  public static func raise() -> Int {
    var limit = rlimit()
    // SAFETY: `limit` is written and read during the calls.
    guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      // SAFETY: as above. If it fails, the old limit stays in force.
      _ = unsafe setrlimit(resource, &limit)
    }
    return current
  }

  /// Lowers the soft limit: for tests that run out of descriptors.
  public static func lower(to count: Int) throws(Errno) {
    var limit = rlimit()
    // SAFETY: as above.
    _ = try retrying { unsafe getrlimit(resource, &limit) }
    limit.rlim_cur = rlim_t(count)
    // SAFETY: as above.
    _ = try retrying { unsafe setrlimit(resource, &limit) }
  }

  private static var resource: Int32 { Int32(RLIMIT_NOFILE.rawValue) }
}
