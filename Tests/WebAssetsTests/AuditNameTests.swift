import Foundation
import Testing

/// The console's names of the audit log's entries, against the statements that write them.
@Suite("Names of audit entries")
struct AuditNameTests {
  static let sources = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources").standardized

  /// The texts of all Swift files.
  static func code() throws -> [String] {
    let files = try #require(
      FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
      .map { try String(contentsOf: $0, encoding: .utf8) }
  }

  /// The actions of a file: those of its SQL statements, of calls of `audit`, of the objects of
  /// `SharedItems`, whose statements are `\(object).added` and so on, and of the systems from which
  /// conversations are imported.
  static func actions(in code: String, objects: [String], systems: [String]) -> [String] {
    let statements = code.components(separatedBy: "INSERT INTO audit_log").dropFirst()
      .map { $0.components(separatedBy: "\"\"\"")[0] }
    let written = statements.flatMap { statement in
      statement.matches(of: /'([a-z_]+\.[a-z_]+)'/).map { String($0.1) }
        + statement.matches(of: /'\\\(object\)\.([a-z_]+)'/).flatMap { match in
          objects.map { "\($0).\(match.1)" }
        }
    }
    let imported = code.matches(of: /"\\\(source\.system\.word\)\.([a-z_]+)"/).flatMap { match in
      systems.map { "\($0).\(match.1)" }
    }
    return written + imported
      + code.matches(of: /audit\(\s*"([a-z_]+\.[a-z_]+)"/).map { String($0.1) }
  }

  @Test("each action that the gateway writes to the audit log has a name, and no other has")
  func names() throws {
    let code = try Self.code()
    let objects = code.flatMap { $0.matches(of: /object: "([a-z_]+)"/).map { String($0.1) } }
    #expect(objects.count >= 2)
    let systems = code.flatMap {
      $0.matches(of: /name: "[^"]+", word: "([a-z_]+)"/).map { String($0.1) }
    }
    #expect(systems.count >= 3)
    let written = Set(code.flatMap { Self.actions(in: $0, objects: objects, systems: systems) })
    let page = Self.sources.appending(path: "WebAssets/console/settings/audit-actions.js")
    let named = try String(contentsOf: page, encoding: .utf8)
      .matches(of: #/(?m)^  '([a-z_]+\.[a-z_]+)':/#).map { String($0.1) }
    #expect(Set(named) == written)
    #expect(Set(named).count == named.count)
  }
}
