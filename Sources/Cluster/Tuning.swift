import Glibc

/// What a new private cluster is set to, in its own postgresql.conf, where its operator may change
/// it. Nothing here touches what an acknowledged message rests on (see `Cluster.launch`).
enum Tuning {
  private static let mebibyte = 1 << 20

  /// A quarter of the memory, 128 MiB to 1 GiB: beside an application that is small itself. With
  /// less than what is written at the moment, a batch has to write others' pages out first, and
  /// their log before them.
  static func sharedBuffers(memory: Int) -> Int {
    min(1_024, max(128, memory / 4 / mebibyte))
  }

  static func text(memory: Int) -> String {
    """

    # Of Chirrup, when this cluster was made.
    shared_buffers = \(sharedBuffers(memory: memory))MB
    # After each checkpoint the first change of a page logs the whole page: fewer checkpoints, less
    # log. What is left to replay after a crash is bounded by the size.
    checkpoint_timeout = 15min
    max_wal_size = 2GB
    # Used again instead of made anew, which a commit would wait for.
    min_wal_size = 512MB
    # A log file made anew is not filled with zeros first: all commits would wait for 16 MiB.
    wal_init_zero = off

    """
  }

  static func append(to path: String) throws(ClusterFailure) {
    let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else {
      throw .system(operation: "open", path: path, reason: systemText(errno))
    }
    defer { close(file) }
    let bytes = Array(text(memory: memory).utf8)
    // SAFETY: the buffer has `count` bytes.
    let count = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
    guard count == bytes.count else {
      throw .system(operation: "write", path: path, reason: systemText(errno))
    }
  }
}
