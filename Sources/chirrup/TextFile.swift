/// Reads the folders and files that are named on the command line.
import Glibc

enum TextFile {
  /// The largest file in bytes; a migration is far smaller.
  static let bytesMax = 4 * 1024 * 1024

  /// The names of the files in a folder, sorted, without hidden ones.
  static func names(in folder: String) throws -> [String] {
    // SAFETY: the stream is closed below, and each entry is copied before the next call of readdir.
    guard let stream = unsafe opendir(folder) else {
      throw CommandFailure("cannot read the folder \(folder): \(reason())")
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  static func read(_ path: String) throws -> String {
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
    throw CommandFailure("\(path) is larger than \(bytesMax) bytes, the limit for a migration")
  }

  static func reason() -> String {
    // SAFETY: strerror returns a C string, which is copied before any other call.
    guard let text = unsafe strerror(errno) else { return "error \(errno)" }
    return unsafe String(cString: text)
  }
}
