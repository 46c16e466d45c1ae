/// The kernel's memory for sockets, from /proc (proc_meminfo(5), slabinfo(5)).
import Foundation

struct KernelMemory: Equatable {
  /// The memory that new programs can use without swapping.
  var availableBytes = 0
  /// Sockets, their inodes, open files and entries of epoll; nil where /proc/slabinfo cannot be
  /// read, which needs root.
  var objectBytes: Int?
  /// The name of a socket in the file systems' caches, by the size of the objects: other programs'
  /// files are in the same caches, and come and go.
  var bytesOfName = 0
  var tcpSockets = 0
  /// Queued bytes of all TCP sockets.
  var tcpBufferBytes = 0

  /// All memory of sockets; nil if it is not known.
  var socketBytes: Int? { objectBytes.map { $0 + tcpSockets * bytesOfName + tcpBufferBytes } }

  /// Caches that contain almost only what belongs to sockets on a machine with many of them.
  private static let caches: Set<Substring> = [
    "TCP", "sock_inode_cache", "filp", "eventpoll_epi", "eventpoll_pwq", "lsm_file_cache",
    "ep_head",
  ]

  static func now() -> KernelMemory {
    KernelMemory(
      meminfo: text("/proc/meminfo"), sockstat: text("/proc/net/sockstat"),
      slabinfo: text("/proc/slabinfo"))
  }

  /// Only the available memory, for frequent calls.
  static func available() -> Int {
    KernelMemory(meminfo: text("/proc/meminfo"), sockstat: "", slabinfo: "").availableBytes
  }

  init() {}

  init(meminfo: String, sockstat: String, slabinfo: String, pageBytes: Int = 4096) {
    for line in meminfo.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 1, let kibibytes = Int(fields[1]) else { continue }
      if fields[0] == "MemAvailable:" { availableBytes = kibibytes << 10 }
    }
    readSockets(sockstat, pageBytes)
    readCaches(slabinfo, pageBytes)
  }

  /// `TCP: inuse 24 orphan 0 tw 53 alloc 24 mem 67`, where `mem` counts pages.
  private mutating func readSockets(_ sockstat: String, _ pageBytes: Int) {
    guard let line = sockstat.split(separator: "\n").first(where: { $0.hasPrefix("TCP:") }) else {
      return
    }
    let fields = line.split(separator: " ").dropFirst()
    let names = zip(fields.indices, fields)
    for (index, name) in names where index + 1 < fields.endIndex {
      let value = Int(fields[index + 1]) ?? 0
      if name == "alloc" { tcpSockets = value }
      if name == "mem" { tcpBufferBytes = value * pageBytes }
    }
  }

  /// `NAME active_objs num_objs objsize objperslab pagesperslab : tunables … : slabdata
  /// active_slabs num_slabs sharedavail`
  private mutating func readCaches(_ slabinfo: String, _ pageBytes: Int) {
    for line in slabinfo.split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count > 14, let active = Int(fields[1]), let size = Int(fields[3]),
        let perSlab = Int(fields[4]), let pages = Int(fields[5]), perSlab > 0
      else { continue }
      if KernelMemory.caches.contains(fields[0]) {
        // Not the slabs: empty ones stay for a while after an earlier run.
        objectBytes = (objectBytes ?? 0) + active * pages * pageBytes / perSlab
      }
      if fields[0] == "dentry" || fields[0] == "lsm_inode_cache" { bytesOfName += size }
    }
  }

  /// `FileManager.contents` reads only the first part of such a file, whose size is 0.
  private static func text(_ path: String) -> String {
    let file = try? FileHandle(forReadingFrom: URL(filePath: path))
    return String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
  }
}
