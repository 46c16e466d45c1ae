import CLinux

/// How many descriptors this process may have open: one for each connection and a few more.
public enum DescriptorLimit {
  public static var current: Int {
    var limit = rlimit()
    // SAFETY: `limit` is written during the call only.
    let result = unsafe getrlimit(resource, &limit)
    return result == 0 ? Int(clamping: limit.rlim_cur) : 0
  }

  /// Raises the soft limit to the hard one, as every server must that means to hold many
  /// connections. The result is the limit that is in force.
  @discardableResult
  public static func raise() -> Int {
    var limit = rlimit()
    // SAFETY: `limit` is written and read during the calls only.
    guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      // SAFETY: as above. A refusal leaves the old limit, which is then the answer.
      _ = unsafe setrlimit(resource, &limit)
    }
    return current
  }

  /// Lowers the soft limit: for tests of what happens when descriptors run out.
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
