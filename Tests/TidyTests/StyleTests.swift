/// Style rules that the formatter does not check: sizes, first lines, and words that must not ship.
import Foundation
import Testing

@Suite struct StyleTests {
  static let code = SourceFile.all.filter {
    ["swift", "js", "mjs", "py", "sh", "c", "h"].contains($0.fileExtension)
  }
  static let shippedSwift = SourceFile.swift.filter {
    $0.path.hasPrefix("Sources/") || $0.path.hasPrefix("LoadTests/")
  }

  /// A language has one text a line, and what stands in `built` is generated.
  static let sized = code.filter {
    !$0.path.contains("/languages/") && !$0.path.contains("/built/")
  }

  @Test("a file has 500 lines at most", arguments: sized)
  func fileSize(file: SourceFile) {
    #expect(file.lines.count <= 500)
  }

  @Test("a line of Swift has 100 columns at most", arguments: SourceFile.swift)
  func columns(file: SourceFile) {
    let long = file.lines.indices.filter { file.lines[$0].count > 100 }.map { $0 + 1 }
    #expect(long.isEmpty, "lines \(long)")
  }

  @Test("a function has 70 lines at most", arguments: shippedSwift)
  func functionSize(file: SourceFile) throws {
    let opening = try Regex(#"^( *)(?:[@a-z()_]+ )*(?:func |init[?(<]|deinit\b).*"#)
    for (start, line) in file.lines.enumerated() {
      guard let match = line.wholeMatch(of: opening), let indent = match[1].substring else {
        continue
      }
      // Formatted code closes a function at the indentation of its first line.
      let end = file.lines[start...].firstIndex {
        $0.dropFirst(indent.count) == "}" && $0.hasPrefix(indent)
      }
      #expect((end ?? start) - start <= 70, "line \(start + 1)")
    }
  }

  @Test(
    "a Swift file starts with its purpose, before or after its imports",
    arguments: shippedSwift)
  func firstLines(file: SourceFile) {
    let code = file.lines.lazy.filter { line in
      !line.isEmpty && line.firstMatch(of: /^((public |package )?import |#if canImport)/) == nil
    }
    // Or inside the extension that is the whole file.
    #expect(code.prefix(2).contains { $0.drop { $0 == " " }.hasPrefix("//") })
  }

  @Test("no code is unfinished or forces a value", arguments: SourceFile.all)
  func bannedWords(file: SourceFile) {
    guard !file.path.hasPrefix("Tests/TidyTests/") else { return }
    let banned =
      file.fileExtension == "swift"
      ? ["try!", "as!", "TODO", "FIXME", "NSLock", "DispatchQueue"]
      : ["TODO", "FIXME"]
    for (number, line) in file.lines.enumerated() {
      for word in banned where line.contains(word) {
        Issue.record("\(word) in line \(number + 1)")
      }
    }
  }

  @Test("text enters the page as text only", arguments: SourceFile.all)
  func scriptWords(file: SourceFile) {
    guard file.path.hasPrefix("Sources/"), file.fileExtension == "js" else { return }
    for (number, line) in file.lines.enumerated() {
      for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
      where line.contains(word) {
        Issue.record("\(word) in line \(number + 1)")
      }
    }
  }

  @Test(
    "no code uses libdispatch's threads, which end the process without descriptors",
    arguments: SourceFile.swift.filter { $0.path.hasPrefix("Sources/") })
  func ownThreads(file: SourceFile) throws {
    // SE-0417: a preferred executor is inherited by child tasks and used by actors.
    let foreign = try Regex(
      #"\bTask(\.detached|\.sleep|\.yield|\s*\{|\((?!executorPreference:))|\basync let\b"#
        + #"|@MainActor|@globalActor|\bAsyncStream\b|\bDispatch\w*"#)
    for (number, line) in file.lines.enumerated() where line.contains(foreign) {
      guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
      Issue.record(
        "line \(number + 1): use an executor of ours, see WorkerThreads and LoopExecutor")
    }
  }

  @Test("unsafe code has a SAFETY comment", arguments: shippedSwift)
  func safety(file: SourceFile) throws {
    let marked = try Regex(#"\bunsafe \S|@unchecked Sendable|nonisolated\(unsafe\)"#)
    let code = file.lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }
    guard code.contains(where: { $0.contains(marked) }) else { return }
    #expect(file.lines.contains { $0.contains("SAFETY:") }, "no SAFETY comment in the file")
  }
}
