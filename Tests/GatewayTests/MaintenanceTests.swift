import Fixtures
import Kernel
import Postgres
import Testing

@testable import Gateway

@Suite struct MaintenanceTests {
  @Test("a refused statement is logged once until PostgreSQL accepts it again")
  func refused() async throws {
    let book = LogBook()
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(database: database.url, log: book)
    defer { gateway.stop() }
    try gateway.run(Query("REVOKE SELECT ON rich_menus FROM chirrup_gateway"))
    let line = try await book.first(with: "refused")
    #expect(
      line == """
        PostgreSQL refused a statement: 42501 permission denied for table rich_menus \
        for=workspaces with bots
        """)
    // At least one further round.
    try await Task.sleep(for: .milliseconds(2 * Maintenance.intervalMilliseconds))
    try gateway.run(Query("GRANT SELECT ON rich_menus TO chirrup_gateway"))
    let accepted = try await book.first(with: "accepts")
    #expect(accepted == "PostgreSQL accepts the statement again for=workspaces with bots")
    #expect(book.lines(with: "for=workspaces with bots").count == 2)
  }
}
