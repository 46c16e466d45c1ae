import EmbeddedPostgres
import Foundation
public import Postgres
import Synchronization

/// A database of its own for one test, on the server that all tests of the process share.
public struct EmptyDatabase: Sendable {
  public let url: String
  public let name: String

  private static let count = Atomic<Int>(0)

  public init() throws {
    let base = try ScratchCluster.url()
    name = "empty_\(EmptyDatabase.count.add(1, ordering: .relaxed).newValue)"
    try BlockingConnection(base).execute(script: "CREATE DATABASE \(name)")
    url = base.replacing("/chirrup?", with: "/\(name)?")
  }

  /// A database as it was found elsewhere (Tests/Fixtures/legacy).
  public init(fixture: String, rows: Int = 1_000) throws {
    try self.init()
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "legacy/\(fixture).sql")
    // The lines of psql's own language set the variable that stands in the script.
    let script = try String(contentsOf: file, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("\\") }
      .joined(separator: "\n").replacing(":rows)", with: "\(rows))")
    try BlockingConnection(url).execute(script: script)
  }

  /// A backup by pg_dump, brought back into a database of its own.
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

  /// What pg_dump writes: the schema as it stands, the rows of each table sorted, since a table has
  /// no order. Without the key that pg_dump draws for each run.
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
  /// The first column of an answer.
  public func texts(_ sql: StaticString, _ parameters: [Parameter] = []) throws -> [String] {
    let rows = try run(Query(sql, parameters))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  public func number(_ sql: StaticString, _ parameters: [Parameter] = []) throws -> Int64 {
    try run(Query(sql, parameters)).int(0, 0) ?? -1
  }
}
