import Foundation
import Postgres

/// A database of an application that moves in: a script of Tests/Fixtures/legacy/shapes over
/// `workspace_chat`, or over the fixture that its line `-- base: NAME` names.
public struct Shape: Sendable {
  public let name: String
  /// Part of the finding with which the migrator refuses it; nil: it can be adopted.
  public let refusal: String?
  /// The statements of the old application, which must succeed after the migration.
  public let oldStatements: [String]
  /// The schema of Chirrup's tables, if it is not the application's.
  private let schema: String?
  private let base: String
  private let script: String

  public init(_ name: String) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "legacy/shapes/\(name).sql")
    let script = try String(contentsOf: file, encoding: .utf8)
    func values(_ key: String) -> [String] {
      script.split(separator: "\n").compactMap { line in
        line.hasPrefix("-- \(key): ") ? String(line.dropFirst(key.count + 5)) : nil
      }
    }
    self.name = name
    self.script = script
    base = values("base").first ?? "workspace_chat"
    refusal = values("expect").first
    oldStatements = values("old")
    schema = values("schema").first
  }

  public static func all() throws -> [Shape] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "legacy/shapes")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path())
      .filter { $0.hasSuffix(".sql") }.sorted().map { try Shape(String($0.dropLast(4))) }
  }

  /// The statements of the script; a function's body has semicolons of its own.
  public var statements: [String] {
    var statements: [String] = []
    var open = ""
    for line in script.split(separator: "\n") where !line.hasPrefix("--") {
      open += line + "\n"
      if line.hasSuffix(";"),
        open.split(separator: "$$", omittingEmptySubsequences: false).count != 2
      {
        statements.append(open)
        open = ""
      }
    }
    return statements
  }

  /// The statements that undo the usual guide to sessions (guide_rollback.sql), one a line.
  public static func rollbackOfGuide() throws -> [String] {
    try EmptyDatabase.script(of: "guide_rollback", rows: 0).split(separator: "\n")
      .map { String($0) }.filter { !$0.hasPrefix("--") }
  }

  public func database(rows: Int = 300) throws -> EmptyDatabase {
    let database = try EmptyDatabase(fixture: base, rows: rows)
    try BlockingConnection(database.url).execute(script: script)
    guard let schema else { return database }
    try BlockingConnection(database.url).execute(script: "CREATE SCHEMA \(schema)")
    return database.reached(by: "\(schema),public")
  }

  /// Makes it in an empty database of another server.
  public func load(into url: String, rows: Int = 300) throws {
    let connection = try BlockingConnection(url)
    try connection.execute(script: EmptyDatabase.script(of: base, rows: rows))
    try connection.execute(script: script)
  }
}
