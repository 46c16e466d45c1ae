import Glibc

/// The settings of a new private PostgreSQL, in its postgresql.conf, where the administrator may
/// change them. None of them affects durability (see `Server.launch`).
enum Tuning {
  private static let mebibyte = 1 << 20

  /// `shared_buffers` in MiB: a quarter of the memory, 128 MiB to 1 GiB. With less than the working
  /// set of writes, a batch must first flush other pages, and the WAL before them.
  static func sharedBuffers(memory: Int) -> Int {
    min(1_024, max(128, memory / 4 / mebibyte))
  }

  static func text(memory: Int) -> String {
    """

    # Set by Chirrup when it created this database cluster.
    shared_buffers = \(sharedBuffers(memory: memory))MB
    # The first change of a page after a checkpoint logs the whole page: fewer checkpoints write
    # less WAL. max_wal_size bounds the WAL to replay after a crash.
    checkpoint_timeout = 15min
    max_wal_size = 2GB
    # WAL files are recycled: a commit need not wait for a new one.
    min_wal_size = 512MB
    # A new WAL file is not filled with 16 MiB of zeros, for which all commits would wait.
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
