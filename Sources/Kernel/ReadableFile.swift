import CLinux
import Primitives

/// A file that is read at positions (pread(2)), so that several threads may share it, and a reader
/// that starts again needs no seek.
public final class ReadableFile: Sendable {
  private let descriptor: FileDescriptor
  /// The size when it was opened.
  public let byteCount: Int64

  public init(path: String) throws(Errno) {
    // SAFETY: the path is copied into a C string for the call.
    let number = try retrying { unsafe chirrup_open_to_read(path) }
    let descriptor = FileDescriptor(owning: number)
    var status = stat()
    // SAFETY: the kernel writes the status.
    _ = try retrying { unsafe fstat(number, &status) }
    byteCount = Int64(status.st_size)
    self.descriptor = descriptor
  }

  /// Reads into the buffer from `offset` to its end, from `position` of the file on, and returns
  /// the number of bytes; 0 at the end of the file.
  public func read(
    into buffer: inout MutableRawSpan, from offset: Int = 0, at position: Int64
  ) throws(Errno) -> Int {
    precondition(offset >= 0 && offset <= buffer.byteCount, "offset outside the buffer")
    let number = descriptor.rawValue
    // SAFETY: the pointer and the count describe the rest of the buffer, which outlives the call.
    return try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
      try retrying {
        unsafe pread(
          number, bytes.baseAddress?.advanced(by: offset), bytes.count - offset, Int(position))
      }
    }
  }

  /// At most `count` bytes from `position` on; fewer only at the end of the file.
  public func bytes(at position: Int64, count: Int) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = try bytes.withMutableRawSpan { room throws(Errno) in
        try read(into: &room, from: filled, at: position + Int64(filled))
      }
      if got == 0 { break }
      filled += got
    }
    return filled == count ? bytes : Array(bytes[..<filled])
  }
}
