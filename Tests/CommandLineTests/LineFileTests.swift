import Foundation
import Testing

@testable import chirrup

/// Files that are read line by line.
@Suite struct LineFileTests {
  private func lines(of bytes: [UInt8], lineBytes: Int = 1_000_000) throws -> [[UInt8]] {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    try Data(bytes).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try LineFile(path, lineBytes: lineBytes)
    var lines: [[UInt8]] = []
    while let line = try file.next() { lines.append(line) }
    #expect(try file.next() == nil)
    return lines
  }

  @Test func `lines of all lengths, with and without a last line feed`() throws {
    let newline = UInt8(ascii: "\n")
    for lengths in [[], [0], [0, 0, 3], [262_143, 1], [262_144], [262_145, 0, 7], [600_000, 2]] {
      let wanted = lengths.map { [UInt8](repeating: UInt8(ascii: "x"), count: $0) }
      let text = Array(wanted.map { $0 + [newline] }.joined())
      #expect(try lines(of: text) == wanted)
      // An empty line at the end needs its line feed.
      if let last = wanted.last, !last.isEmpty {
        #expect(try lines(of: Array(text.dropLast())) == wanted)
      }
    }
  }

  @Test func `a line that is too long and a file that is missing are refused`() throws {
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: 400_000)
    #expect(throws: CommandFailure.self) { try lines(of: text, lineBytes: 300_000) }
    #expect(throws: CommandFailure.self) { try LineFile("/nonexistent/file", lineBytes: 1) }
  }
}
