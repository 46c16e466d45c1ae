import EmbeddedPostgres
import Foundation
public import Postgres
import Synchronization

/// A separate database for one test, on the server that all tests of the process share.
public struct EmptyDatabase: Sendable {
  public let url: String
  public let name: String

  private static let count = Atomic<Int>(0)

  public init() throws {
    let base = try ScratchCluster.url()
    try Roles.prepared.get()
    name = "empty_\(EmptyDatabase.count.add(1, ordering: .relaxed).newValue)"
    try BlockingConnection(base).execute(script: "CREATE DATABASE \(name)")
    url = base.replacing("/chirrup?", with: "/\(name)?")
  }

  private init(url: String, name: String) {
    self.url = url
    self.name = name
  }

  /// The same database, with another search_path for its connections.
  func reached(by searchPath: String) -> EmptyDatabase {
    EmptyDatabase(url: "\(url)&options=-csearch_path%3D\(searchPath)", name: name)
  }

  /// A database as found in other systems (Tests/Fixtures/legacy).
  public init(fixture: String, rows: Int = 1_000) throws {
    try self.init()
    try BlockingConnection(url).execute(script: EmptyDatabase.script(of: fixture, rows: rows))
  }

  static func script(of fixture: String, rows: Int) throws -> String {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "legacy/\(fixture).sql")
    // psql's meta-commands set the variable used in the script.
    return try String(contentsOf: file, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("\\") }
      .joined(separator: "\n").replacing(":rows)", with: "\(rows))")
  }

  /// Restores a pg_dump backup into another database.
  public func restored() throws -> EmptyDatabase {
    let copy = try EmptyDatabase()
    let program = Process()
    program.executableURL = URL(filePath: "/bin/sh")
    program.arguments = [
      "-c", "pg_dump --format=custom \"$0\" | pg_restore --exit-on-error --dbname \"$1\"", url,
      copy.url,
    ]
    try program.run()
    program.waitUntilExit()
    guard program.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    return copy
  }

  /// The output of pg_dump: the schema, and the rows of each table, sorted because a table has no
  /// order. Without the random key of each pg_dump run.
  public func dump() throws -> (schema: String, rows: [String]) {
    func run(_ option: String) throws -> [String] {
      let program = Process()
      program.executableURL = URL(filePath: "/usr/bin/env")
      program.arguments = ["pg_dump", option, "--no-password", url]
      let output = Pipe()
      program.standardOutput = output
      try program.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      program.waitUntilExit()
      guard program.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
      return text.split(separator: "\n").map { String($0) }.filter {
        !$0.hasPrefix("\\restrict") && !$0.hasPrefix("\\unrestrict")
      }
    }
    return (try run("--schema-only").joined(separator: "\n"), try run("--data-only").sorted())
  }
}

extension BlockingConnection {
  /// The first column of the result.
  public func texts(_ sql: StaticString, _ parameters: [Parameter] = []) throws -> [String] {
    let rows = try run(Query(sql, parameters))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  public func number(_ sql: StaticString, _ parameters: [Parameter] = []) throws -> Int64 {
    try run(Query(sql, parameters)).int(0, 0) ?? -1
  }
}
