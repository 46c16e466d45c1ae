/// Messages for people go to standard error, results to standard output.
import Glibc
import Primitives

enum Terminal {
  /// Writes a line to standard error.
  static func note(_ text: String) {
    write(text + "\n", to: STDERR_FILENO)
  }

  /// Writes a line to standard output, unbuffered: the reader of a pipe may be waiting for it.
  static func result(_ text: String) {
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
        return  // The reader has closed its end, for example `head`.
      }
    }
  }

  /// Whether a person can answer questions.
  static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

  /// Asks a person for one line. An empty answer, or the end of input, is the proposal.
  static func ask(_ question: String, proposal: String = "") -> String {
    write(proposal.isEmpty ? "\(question): " : "\(question) [\(proposal)]: ", to: STDERR_FILENO)
    let answer = String((readLine() ?? "").trimmingBlanks)
    return answer.isEmpty ? proposal : answer
  }

  /// Reads a password: the first line of standard input, without echo if that is a terminal.
  static func readPassword(prompt: String) -> String? {
    guard isatty(STDIN_FILENO) == 1 else { return readLine() }
    var saved = termios()
    // SAFETY: `saved` is a termios that the call fills.
    guard unsafe tcgetattr(STDIN_FILENO, &saved) == 0 else { return nil }
    var withoutEcho = saved
    withoutEcho.c_lflag &= ~tcflag_t(ECHO)
    // Before the prompt: TCSAFLUSH discards what was typed until then, and an answer to the prompt
    // must be neither discarded nor echoed.
    // SAFETY: both calls only read the structure.
    _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &withoutEcho)
    write(prompt, to: STDERR_FILENO)
    let line = readLine()
    _ = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &saved)
    write("\n", to: STDERR_FILENO)
    return line
  }
}

/// Encodes text as a JSON string, with its quotes (RFC 8259 §7).
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
