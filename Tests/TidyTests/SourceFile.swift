/// The package's files as text, for the style rules.
import Foundation
import Testing

struct SourceFile: CustomTestStringConvertible, Sendable {
  /// Relative to the package, as in `Sources/Wire/Frame.swift`.
  var path: String
  var lines: [Substring]

  var testDescription: String { path }
  var folders: [Substring] { path.split(separator: "/").dropLast() }
  var fileExtension: String { (path as NSString).pathExtension }

  static let packageDirectory = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every text file of the package, without the output of builds and tests.
  static let all: [SourceFile] = {
    var files = [read("Package.swift"), read("README.md")]
    for folder in ["Sources", "Tests", "LoadTests", "scripts", "config"] {
      let directory = packageDirectory.appending(path: folder)
      let names = FileManager.default.enumerator(atPath: directory.path)
      while let name = names?.nextObject() as? String {
        let parts = name.split(separator: "/")
        let isForeign = parts.contains {
          $0.hasPrefix(".") || $0 == "node_modules" || $0 == "__pycache__"
        }
        if !isForeign, let file = read("\(folder)/\(name)") { files.append(file) }
      }
    }
    return files.compactMap(\.self).sorted { $0.path < $1.path }
  }()

  static let swift = all.filter { $0.fileExtension == "swift" }

  /// Nil for folders and for files that are no text.
  private static func read(_ path: String) -> SourceFile? {
    guard
      let text = try? String(contentsOf: packageDirectory.appending(path: path), encoding: .utf8)
    else { return nil }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    return SourceFile(path: path, lines: lines)
  }
}
