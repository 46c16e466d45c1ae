/// Sources/ARCHITECTURE.md is the map of the sources: each file, type and target that it names
/// exists, and it names each target.
import Foundation
import Testing

@Suite struct ArchitectureTests {
  /// The texts between backticks, once each. `AREA`, `CODE`, `NAME` and `DATE` stand for names
  /// that the reader chooses, and a `+JSON.swift` continues the name before it.
  static let terms: [String] = {
    let page = SourceFile.all.first { $0.path == "Sources/ARCHITECTURE.md" }
    let text = page?.lines.joined(separator: "\n") ?? ""
    let all = text.matches(of: /`([^`\n]+)`/).map { String($0.1) }
    return Array(Set(all)).sorted()
  }()

  static let files = terms.filter {
    ($0.contains("/") || $0.contains(".swift")) && !$0.hasPrefix("+") && !hasPlaceholder($0)
  }

  /// `Engine`, `Turn.Limit`: a declared type or a target.
  static let types = terms.filter {
    $0.wholeMatch(of: /[A-Z][A-Za-z]+(\.[A-Z][A-Za-z]+)*/) != nil && !hasPlaceholder($0)
  }

  static func hasPlaceholder(_ term: String) -> Bool {
    term.contains(/AREA|CODE|NAME|DATE/)
  }

  static let declarations: Set<String> = {
    var names = Set(ImportTests.targets.map(\.name))
    let keywords = ["struct ", "class ", "enum ", "protocol ", "actor "]
    for file in SourceFile.swift where file.path.hasPrefix("Sources/") {
      for line in file.lines where keywords.contains(where: { line.contains($0) }) {
        guard let match = line.firstMatch(of: /\b(?:struct|class|enum|protocol|actor) ([A-Z]\w*)/)
        else { continue }
        names.insert(String(match.1))
      }
    }
    return names
  }()

  private static let paths = SourceFile.all.map(\.path)

  /// A file or folder anywhere below the package's folders, named by the end of its path.
  static func exists(_ term: String) -> Bool {
    paths.contains { path in
      path == term || path.hasSuffix("/\(term)") || path.contains("/\(term)/")
        || path.hasPrefix("\(term)/")
    }
  }

  @Test("the parsed page has its targets, files and types")
  func reading() {
    #expect(Self.files.count > 40 && Self.types.count > 40)
    #expect(Self.files.contains("Engine/Inbound.swift") && Self.types.contains("ConnectionTable"))
    #expect(!Self.exists("Engine/Nothing.swift") && !Self.declarations.contains("Nothing"))
  }

  @Test("a file or folder that the page names exists", arguments: files)
  func file(term: String) { #expect(Self.exists(term)) }

  @Test("a type or target that the page names is declared", arguments: types)
  func type(term: String) {
    for name in term.split(separator: ".") {
      let isDeclared = Self.declarations.contains(String(name))
      #expect(isDeclared, "\(name)")
    }
  }

  @Test("the page names every target of the gateway")
  func targets() {
    let unnamed = ImportTests.targets.map(\.name).filter { name in
      let isSource = Self.exists("Sources/\(name)") && !name.hasSuffix("Tests")
      return isSource && !Self.terms.contains(name)
    }
    #expect(unnamed.filter { !ImportTests.cModules.keys.contains($0) }.isEmpty, "\(unnamed)")
  }
}
