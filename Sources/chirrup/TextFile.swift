/// Reads the folders and files that are named on the command line.
import Glibc
import Kernel

enum TextFile {
  /// The largest file in bytes; a migration is far smaller.
  static let bytesMax = 4 * 1024 * 1024
  /// The largest table of the kernel: a connection is a line of 150 bytes in /proc/net/tcp.
  static let tableBytesMax = 256 * 1024 * 1024

  /// The names of the files in a folder, sorted, without hidden ones.
  static func names(in folder: String) throws -> [String] {
    do throws(Errno) {
      return try FolderListing.names(in: folder)
    } catch {
      throw CommandFailure("cannot read the folder \(folder): \(error)")
    }
  }

  static func read(_ path: String, bytesMax: Int = bytesMax) throws -> String {
    // SAFETY: the path is copied into a C string for the call.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw CommandFailure("cannot read \(path): \(reason())") }
    defer { close(file) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while text.count <= bytesMax {
      // SAFETY: the buffer has `count` bytes.
      let count = unsafe Glibc.read(file, &buffer, buffer.count)
      if count < 0 { throw CommandFailure("cannot read \(path): \(reason())") }
      if count == 0 { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<count]
    }
    throw CommandFailure("\(path) is larger than \(bytesMax) bytes, the limit for such a file")
  }

  static func reason() -> String {
    // SAFETY: strerror returns a C string, which is copied before any other call.
    guard let text = unsafe strerror(errno) else { return "error \(errno)" }
    return unsafe String(cString: text)
  }
}
