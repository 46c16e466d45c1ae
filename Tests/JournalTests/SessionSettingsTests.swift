import Fixtures
import Postgres
import Testing

@testable import Journal

/// Defaults that a database may have for the application that was there first.
@Suite struct SessionSettingsTests {
  static let defaults = [
    "standard_conforming_strings": "off", "row_security": "off", "transform_null_equals": "on",
    "array_nulls": "off", "datestyle": "German", "intervalstyle": "sql_standard",
    "bytea_output": "escape", "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
  ]

  private func check(_ connection: BlockingConnection) throws {
    for (name, value) in Self.defaults {
      let rows = try connection.run(Query("SELECT current_setting($1)", [.text(name)]))
      #expect(rows.text(0, 0)?.hasPrefix(value) == false, "\(name)")
    }
  }

  @Test func `sessions that block replace a database's defaults`() throws {
    let database = try EmptyDatabase()
    let owner = try BlockingConnection(database.url)
    for (name, value) in Self.defaults {
      try owner.execute(script: "ALTER DATABASE \(database.name) SET \(name) = '\(value)'")
    }
    try check(BlockingConnection(database.url))
  }

  @Test(arguments: [
    Query(AppendStatement.settings, [.bool(false)]),
    Query(QueryConnection.settings, [.bool(false), .text("10000")]),
  ]) func `writers and readers replace a database's defaults`(settings: Query) throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    for (name, value) in Self.defaults {
      try connection.execute(script: "SET \(name) = '\(value)'")
    }
    try connection.run(settings)
    try check(connection)
  }
}
