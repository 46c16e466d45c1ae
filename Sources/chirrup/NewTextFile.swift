/// A new file for exported rows: only its owner may read it, and an existing file is not changed.
import Glibc

struct NewTextFile: ~Copyable {
  /// Bytes that are collected before a write.
  private static let bufferBytes = 64 * 1024

  let path: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ path: String) throws {
    self.path = path
    // SAFETY: the path is copied into a C string for the call.
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure(
        errno == EEXIST
          ? "\(path) exists already; name another file"
          : "cannot create \(path): \(TextFile.reason())")
    }
  }

  deinit { Glibc.close(descriptor) }

  mutating func write(_ text: String) throws {
    buffer += Array(text.utf8)
    if buffer.count >= NewTextFile.bufferBytes { try flush() }
  }

  /// Writes the rest and waits until it is on the disk.
  mutating func finish() throws {
    try flush()
    guard fsync(descriptor) == 0 else {
      throw CommandFailure("cannot write \(path): \(TextFile.reason())")
    }
  }

  private mutating func flush() throws {
    var start = 0
    while start < buffer.count {
      // SAFETY: the slice lies within the buffer.
      let written = unsafe buffer.withUnsafeBytes { bytes in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
        return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
      }
      if written < 0 {
        if errno == EINTR { continue }
        throw CommandFailure("cannot write \(path): \(TextFile.reason())")
      }
      start += written
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
