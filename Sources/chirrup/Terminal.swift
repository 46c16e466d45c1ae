/// Text for people goes to standard error, results go to standard output.
import Glibc

enum Terminal {
  /// A line for whoever started the command.
  static func tell(_ text: String) {
    write(text + "\n", to: STDERR_FILENO)
  }

  /// Results at once, also into a pipe, whose reader may be waiting for them.
  static func answer(_ text: String) {
    write(text + "\n", to: STDOUT_FILENO)
  }

  private static func write(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      // SAFETY: the buffer lives through the call, and `sent` is below its count.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent)
      }
      if count > 0 {
        sent += count
      } else if errno != EINTR {
        return  // nobody reads any more
      }
    }
  }

  /// A password from standard input: unseen at a terminal, otherwise the first line.
  static func readPassword(prompt: String) -> String? {
    guard isatty(STDIN_FILENO) == 1 else { return readLine() }
    write(prompt, to: STDERR_FILENO)
    var saved = termios()
    // SAFETY: `saved` is a termios that the call fills.
    guard unsafe tcgetattr(STDIN_FILENO, &saved) == 0 else { return nil }
    var unseen = saved
    unseen.c_lflag &= ~tcflag_t(ECHO)
    // SAFETY: both calls only read the structure.
    _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen)
    let line = readLine()
    _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved)
    write("\n", to: STDERR_FILENO)
    return line
  }
}

/// A JSON string (RFC 8259 §7), with its quotes.
func jsonText(_ text: String) -> String {
  var json = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": json += "\\\""
    case "\\": json += "\\\\"
    case "\u{0}"..."\u{1F}":
      let digits = String(scalar.value, radix: 16)
      json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: json.unicodeScalars.append(scalar)
    }
  }
  return json + "\""
}
