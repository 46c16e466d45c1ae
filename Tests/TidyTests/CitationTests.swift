/// Every citation resolves: ids of faults are in Tests/FAULTS.md with their tests; named pages,
/// sections and anchors exist; RFCs are cited in one form.
import Foundation
import Testing

@Suite struct CitationTests {
  /// Files written by people. The tests of citations contain wrong ones on purpose.
  static let texts = SourceFile.all.filter { file in
    let kinds = [
      "swift", "md", "py", "sh", "js", "mjs", "c", "h", "sql", "yaml", "css", "ts", "service", "",
    ]
    return kinds.contains(file.fileExtension) && !file.path.contains("/corpus/")
      && !file.path.hasPrefix("Tests/TidyTests/Citation")
  }
  static let pages = texts.filter { $0.fileExtension == "md" }

  // MARK: Faults

  struct Fault {
    var isRow = false
    /// Files in Tests, as named in the catalogue.
    var tests: [String] = []
    var text = ""
  }

  static let catalogue = texts.first { $0.path == "Tests/FAULTS.md" }

  /// `| H01 | input | result | row, `WireTests/UpgradeTests` |`
  static let faults: [String: Fault] = {
    var faults: [String: Fault] = [:]
    for line in catalogue?.lines ?? [] where line.hasPrefix("| ") {
      let cells = line.split(separator: " | ", omittingEmptySubsequences: false)
      let id = cells[0].dropFirst(2)
      guard cells.count == 4, Citations.faults(in: id) == [String(id)] else { continue }
      faults[String(id)] = Fault(
        isRow: cells[3].hasPrefix("row"),
        tests: cells[3].matches(of: /`([^`]+)`/).map { String($0.1) }, text: String(cells[2]))
    }
    return faults
  }()

  @Test("the catalogue of faults is parsed, and each id occurs once")
  func reading() {
    let lines = Self.catalogue?.lines ?? []
    let ids = lines.compactMap { $0.prefixMatch(of: #/\| ([A-Z]\d\d[a-z]?) /#)?.output.1 }
    #expect(ids.count > 170 && Set(ids).count == ids.count && ids.count == Self.faults.count)
    #expect(Self.faults["F27"]?.isRow == true)
  }

  @Test("a cited fault is in Tests/FAULTS.md", arguments: texts)
  func cited(file: SourceFile) {
    for (number, line) in file.lines.enumerated() {
      for id in Citations.faults(in: line) where Self.faults[id] == nil {
        Issue.record("line \(number + 1): \(id)")
      }
    }
  }

  @Test("a test that cites a fault is in the fault's line of Tests/FAULTS.md", arguments: texts)
  func named(file: SourceFile) {
    let isTest =
      file.path.hasPrefix("Tests/") && ["swift", "sh", "py"].contains(file.fileExtension)
      && !file.path.hasPrefix("Tests/Conformance/")
    guard isTest else { return }
    var name = String(file.path.dropFirst("Tests/".count))
    if name.hasSuffix(".swift") { name.removeLast(".swift".count) }
    if name.hasSuffix("_test.py") { name = name.replacing("_test.py", with: ".sh") }
    for id in Set(file.lines.flatMap(Citations.faults)) {
      #expect(Self.faults[id]?.tests.contains(name) == true, "\(id) does not name \(name)")
    }
  }

  @Test("the rows of the conformance suite are in Tests/FAULTS.md")
  func rows() {
    let lines = Self.texts.filter { $0.path.hasPrefix("Tests/Conformance/rows/") }.flatMap(\.lines)
    let rows = Set(
      lines.compactMap { $0.prefixMatch(of: /@row\("([^"]+)"/).map { String($0.output.1) } })
    let skipped = Set(
      lines.compactMap { $0.prefixMatch(of: /skip\("([^"]+)"/).map { String($0.1) } })
    let listed = Set(Self.faults.filter(\.value.isRow).keys)
    #expect(rows.count > 150)
    #expect(rows.subtracting(listed).isEmpty && listed.subtracting(rows).isEmpty)
    #expect(skipped.subtracting(Self.faults.keys).isEmpty)
  }

  @Test("a fault has an existing test, or states that it has none")
  func tested() {
    for (id, fault) in Self.faults {
      let hasReason = fault.text.contains("not tested") || fault.text.contains("by hand")
      #expect(fault.isRow || !fault.tests.isEmpty || hasReason, "\(id) is not tested")
      for test in fault.tests {
        let isThere = Self.exists("Tests/\(test)") || Self.exists("Tests/\(test).swift")
        #expect(isThere, "\(id): \(test)")
      }
    }
  }

  // MARK: Pages

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: SourceFile.packageDirectory.appending(path: path).path)
  }

  static func path(_ name: Substring, from file: SourceFile) -> String {
    let folder = file.folders.joined(separator: "/")
    return String(URL(filePath: "/\(folder)/\(name)").standardized.path.dropFirst())
  }

  /// Searched beside the file, then from the top, then as the only page of this name.
  static func page(_ name: String, from file: SourceFile) -> SourceFile? {
    let near = path(Substring(name), from: file)
    if let page = pages.first(where: { $0.path == near }) { return page }
    if let page = pages.first(where: { $0.path == name }) { return page }
    let others = pages.filter { $0.path.hasSuffix("/\(name)") }
    return others.count == 1 ? others[0] : nil
  }

  @Test("a cited page and its section exist", arguments: texts)
  func namedPages(file: SourceFile) {
    for number in file.lines.indices {
      for reference in Citations.pages(in: file.lines, at: number) {
        guard let page = Self.page(reference.page, from: file) else {
          Issue.record("line \(number + 1): \(reference.page) does not exist")
          continue
        }
        let headings = Citations.headings(of: page.lines)
        if let section = reference.section {
          #expect(
            headings.contains(section), "line \(number + 1): no “\(section)” in \(page.path)")
        }
        if let anchor = reference.anchor {
          #expect(
            Citations.anchors(of: headings).contains(anchor),
            "line \(number + 1): no #\(anchor) in \(page.path)")
        }
      }
    }
  }

  @Test("links lead to existing files and headings", arguments: pages)
  func links(file: SourceFile) {
    for (number, line) in file.lines.enumerated() {
      for link in Citations.links(in: line) {
        let parts = link.split(separator: "#", omittingEmptySubsequences: false)
        let path = parts[0].isEmpty ? file.path : Self.path(parts[0], from: file)
        #expect(Self.exists(path), "line \(number + 1): \(link)")
        guard parts.count == 2, let page = Self.pages.first(where: { $0.path == path }) else {
          continue
        }
        let anchors = Citations.anchors(of: Citations.headings(of: page.lines))
        #expect(anchors.contains(String(parts[1])), "line \(number + 1): \(link)")
      }
    }
  }

  // MARK: RFCs

  @Test("an RFC is cited as RFC 6455 or RFC 6455 §5.2", arguments: texts)
  func requests(file: SourceFile) {
    for number in file.lines.indices {
      for wrong in Citations.wrongRFCs(in: file.lines, at: number) {
        Issue.record("line \(number + 1): \(wrong)")
      }
    }
  }

  // MARK: Injected mistakes

  @Test("ids of faults are distinguished from similar texts")
  func faultIDs() {
    #expect(Citations.faults(in: "(faults A08-A10, H27a.) x F16") == ["A08", "A10", "H27a", "F16"])
    let none = [
      "P99 is P50", "T00:00:00Z", "(X11; Linux)", "U+D800", "0xF01", "A1", "A123", "A05_x",
    ]
    for text in none {
      #expect(Citations.faults(in: Substring(text)).isEmpty, "\(text)")
    }
    #expect(Self.faults["A77"] == nil)
  }

  @Test("pages and sections are found, also across lines")
  func pageNames() {
    let lines: [Substring] = [
      "/// see protocol.md,", "/// “The log”; https://x.example/a.md", "README.md#a-b",
    ]
    #expect(Citations.pages(in: lines, at: 0) == [.init(page: "protocol.md", section: "The log")])
    #expect(Citations.pages(in: lines, at: 1).isEmpty)
    #expect(Citations.pages(in: lines, at: 2) == [.init(page: "README.md", anchor: "a-b")])
    let file = SourceFile(path: "Sources/Engine/X.swift", lines: lines)
    #expect(Self.page("protocol.md", from: file) == nil)
    #expect(Self.page("PROTOCOL.md", from: file)?.path == "Sources/PROTOCOL.md")
    #expect(Self.page("../PROTOCOL.md", from: file)?.path == "Sources/PROTOCOL.md")
    #expect(Self.page("Sources/PROTOCOL.md", from: file)?.path == "Sources/PROTOCOL.md")
  }

  @Test("headings have GitHub's anchors, and comments in code are no headings")
  func anchors() {
    let lines: [Substring] = [
      "# Close codes: the hundred", "```sh", "# none", "```", "## `a_b`, c", "## Same", "## Same",
    ]
    #expect(
      Citations.anchors(of: Citations.headings(of: lines))
        == ["close-codes-the-hundred", "a_b-c", "same", "same-1"])
    let text: Substring = "[a](b.md#c) [d](https://e.example) <img src=\"f.png\">"
    #expect(Citations.links(in: text) == ["b.md#c", "f.png"])
  }

  @Test(
    "other forms of citing an RFC are found",
    arguments: [
      "RFC6455", "RFC-6455", "RFCs 6455", "RFC 6455, section 5", "RFC 6455 section 5", "RFC 6455§5",
      "RFC 6455 and 7692", "RFC 2928, 4380", "RFC 6455 5.2", "RFC 7515, A.1",
      "RFC 9562, appendix A",
      "RFC 6455 § 5",
    ])
  func wrongForms(text: Substring) {
    #expect(Citations.wrongRFCs(in: [text], at: 0).count == 1)
  }

  @Test(
    "both forms of citing an RFC pass",
    arguments: [
      "RFC 6455.", "RFC 6455 §5.2)", "RFC 9562 §A.6, b", "the RFC's", "RFC 791) and RFC 6454 §6",
    ])
  func rightForms(text: Substring) {
    #expect(Citations.wrongRFCs(in: [text], at: 0).isEmpty)
    #expect(Citations.wrongRFCs(in: ["see RFC", "/// 6455 §5"], at: 0).isEmpty)
    #expect(Citations.wrongRFCs(in: ["see RFC", "/// 6455, section 5"], at: 0).count == 1)
  }
}
