/// A block of lines at the end of a terminal that is redrawn in place and removed at the end.
import Foundation
import Kernel

struct Terminal: ~Copyable {
  /// Nil for a pipe, a file, or a terminal that cannot move its cursor.
  init?() {
    let environment = ProcessInfo.processInfo.environment
    guard isatty(STDERR_FILENO) == 1, environment["TERM"] != "dumb" else { return nil }
    // no-color.org
    hasColour = (environment["NO_COLOR"] ?? "").isEmpty
  }

  let hasColour: Bool
  private var lineCount = 0
  private var lastColumns = 0

  var columns: Int { Int(size.ws_col == 0 ? 80 : size.ws_col) }

  private var size: winsize {
    var size = winsize()
    // SAFETY: the kernel writes a winsize, or nothing.
    _ = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size)
    return size
  }

  mutating func draw(_ lines: [String]) {
    let rows = Int(size.ws_row == 0 ? 24 : size.ws_row)
    let columns = columns
    var text = ""
    if lineCount == 0 { text += "\u{1B}[?25l" }
    if lineCount > 0, columns >= lastColumns {
      text += "\u{1B}[\(lineCount)A\r"
    }
    // On a narrower terminal the old lines have wrapped: they stay, and a new block begins.
    let shown = lines.prefix(max(1, rows - 1))
    for line in shown { text += "\(line)\u{1B}[K\n" }
    text += "\u{1B}[J"
    lineCount = shown.count
    lastColumns = columns
    write(text)
  }

  /// Removes the block.
  mutating func clear() {
    guard lineCount > 0 else { return }
    write("\u{1B}[\(lineCount)A\r\u{1B}[J\u{1B}[?25h")
    lineCount = 0
  }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

  deinit {
    if lineCount > 0 { write("\u{1B}[?25h") }
  }
}
