/// A type stays small enough to be one component: its functions are counted over all its
/// extensions, since short files hide what one function may touch.
import Foundation
import Testing

@Suite struct ComponentTests {
  static let functionsMax = 60
  static let fieldsMax = 20
  /// Below this a type is a record, a configuration or a report: its fields are what it is for.
  static let recordFunctionsMax = 10

  struct Component: CustomTestStringConvertible, Sendable {
    var name: String
    var functions = 0
    var fields = 0

    var testDescription: String { "\(name): \(functions) functions, \(fields) fields" }
  }

  /// Types and extensions at the outermost level, by target and name. The formatter's indentation
  /// tells which members are theirs.
  static func components(in files: [SourceFile]) -> [Component] {
    // Once, since a Regex is compiled at its first use.
    let (declaration, function, field) = (declaration, function, field)
    var found: [String: Component] = [:]
    for file in files {
      var name: String?
      for line in file.lines {
        let indentation = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
        if indentation == 0, let match = line.prefixMatch(of: declaration) {
          name = "\(file.folders.dropFirst().first ?? ""): \(match.1)"
        }
        guard let current = name else { continue }
        if line.hasPrefix("}") { name = nil }
        var component = found[current] ?? Component(name: current)
        if indentation == 2 {
          if line.prefixMatch(of: function) != nil { component.functions += 1 }
          // A computed one has a body.
          if line.prefixMatch(of: field) != nil, !line.contains(" {") { component.fields += 1 }
        }
        found[current] = component
      }
    }
    return found.values.sorted { $0.name < $1.name }
  }

  private static var declaration: Regex<(Substring, Substring)> {
    #/
      (?: @\w+ (?: \([^)]*\) )? \x20 )*
      (?: (?: public | private | fileprivate | package | final | indirect ) \x20 )*
      (?: struct | class | enum | extension | actor ) \x20 ([\w.]+)
    /#
  }

  private static var function: Regex<Substring> {
    #/
      \x20{2} (?: @\w+ (?: \([^)]*\) )? \x20 )*
      (?: (?: public | private | fileprivate | package | final | mutating | static | consuming
        | borrowing | nonisolated | override | convenience ) \x20 )*
      (?: func | init ) \b
    /#
  }

  private static var field: Regex<Substring> {
    #/
      \x20{2} (?: @\w+ (?: \([^)]*\) )? \x20 )*
      (?: (?: public | private | fileprivate | package | weak | lazy | final | unowned
        | nonisolated | (?: private | internal | package ) \(set\) ) \x20 )*
      (?: let | var ) \x20 \w
    /#
  }

  static let all = components(
    in: SourceFile.swift.filter { $0.path.hasPrefix("Sources/") })

  @Test("a type has 60 functions at most, over all its extensions", arguments: all)
  func functions(component: Component) { #expect(component.functions <= Self.functionsMax) }

  @Test("a type that is more than a record has 20 stored fields at most", arguments: all)
  func fields(component: Component) {
    if component.functions > Self.recordFunctionsMax {
      #expect(component.fields <= Self.fieldsMax)
    }
  }

  @Test("functions and fields are counted over extensions, without nested and computed ones")
  func counting() {
    let one = SourceFile(
      path: "Sources/A/One.swift",
      lines: [
        "public struct One: ~Copyable {", "  private(set) var a = 1", "  let b: Int",
        "  var c: Int { 3 }", "  static func d() {", "    let e = 1", "  }", "}", "let f = 1",
      ])
    let two = SourceFile(
      path: "Sources/A/Two.swift",
      lines: [
        "extension One {", "  init() {}", "  struct G {", "    func h() {}", "  }",
        "  @inline(never)", "  mutating func i() {}", "}",
      ])
    let found = Self.components(in: [one, two])
    #expect(found.map(\.testDescription) == ["A: One: 3 functions, 2 fields"])
  }
}
