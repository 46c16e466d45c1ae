/// Reads a file of any size line by line, with one line in memory.
import Glibc
import Kernel

final class LineFile {
  private static let chunkBytes = 256 * 1_024

  let path: String
  private let descriptor: FileDescriptor
  private let lineBytes: Int
  private var buffer: [UInt8] = []
  /// The first byte of `buffer` that was not returned, and the first that was not searched.
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  /// - Parameter lineBytes: a longer line is refused.
  init(_ path: String, lineBytes: Int) throws {
    // SAFETY: the path is copied into a C string for the call.
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw CommandFailure("cannot read \(path): \(TextFile.reason())") }
    self.path = path
    self.lineBytes = lineBytes
    descriptor = FileDescriptor(owning: number)
  }

  /// The next line without its end; nil at the end of the file.
  func next() throws -> [UInt8]? {
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          start = end + 1
          searched = start
        }
        return Array(buffer[start..<end])
      }
      searched = buffer.count
      guard buffer.count - start <= lineBytes else {
        throw CommandFailure("\(path) has a line of more than \(lineBytes) bytes, the limit")
      }
      if isAtEnd {
        defer { start = buffer.count }
        return start < buffer.count ? Array(buffer[start...]) : nil
      }
      try fill()
    }
  }

  private func fill() throws {
    buffer.removeFirst(start)
    start = 0
    searched = buffer.count
    let count = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: Self.chunkBytes))
    var span = buffer.mutableSpan
    // SAFETY: every byte is a valid element of the array.
    var bytes = unsafe span.mutableBytes
    let outcome = descriptor.read(into: &bytes, from: count)
    switch outcome {
    case .bytes(let read): buffer.removeLast(Self.chunkBytes - read)
    case .endOfStream:
      buffer.removeLast(Self.chunkBytes)
      isAtEnd = true
    case .wouldBlock, .reset: throw CommandFailure("cannot read \(path)")
    case .failed(let reason): throw CommandFailure("cannot read \(path): \(reason)")
    }
  }
}
