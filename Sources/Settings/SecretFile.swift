/// Reads the files of secrets, such as those of Docker, Kubernetes and systemd.
import Glibc

enum SecretFile {
  static let bytesMax = 65_536

  enum Content {
    case text(String)
    /// Why it is not used; to be put behind the path.
    case fault(String)
  }

  static func exists(_ path: String) -> Bool {
    // SAFETY: the path is copied into a C string for the call.
    unsafe access(path, F_OK) == 0
  }

  static func read(_ path: String) -> Content {
    // SAFETY: as above.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return .fault("cannot be read: \(reason())") }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while bytes.count <= bytesMax {
      // SAFETY: the buffer has `count` bytes.
      let count = unsafe Glibc.read(file, &buffer, buffer.count)
      if count < 0 { return .fault("cannot be read: \(reason())") }
      if count == 0 {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.allSatisfy(\.isWhitespace) ? .fault("is empty") : .text(text)
      }
      bytes += buffer[..<count]
    }
    return .fault("is larger than \(bytesMax) bytes")
  }

  private static func reason() -> String {
    // SAFETY: strerror returns a C string, which is copied before any other call.
    guard let text = unsafe strerror(errno) else { return "error \(errno)" }
    return unsafe String(cString: text)
  }
}
