import Postgres
import Primitives
import Testing

@Suite struct BlockingConnectionTests {
  let database: TestDatabase
  init() throws { database = try TestDatabase() }

  @Test func `every kind of parameter is returned unchanged`() throws {
    let connection = try database.connect()
    let id = Identifier(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
    let time = WallTime(microseconds: 1_795_269_787_042_123)
    let rows = try connection.run(
      Query(
        """
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::text, cardinality($10), $11, $12, $13::text,
          concat_ws(' ', $14::date, $15::date, $16::date)
        """,
        [
          .bool(true), .int(-5), .uuid(id), .text("สวัสดี"), .utf8([]), .bytes([0, 255]),
          .json(Array("{\"a\": 1}".utf8)), .time(time), .null, .uuids([id, id]),
          .text("'; DROP TABLE chats; --"), .uuids([]), .ints([-1, 1 << 40]),
          .date("1969-12-31"), .date("2024-02-29"), .date("2023-02-29"),
        ]))
    #expect(rows.count == 1)
    #expect(rows.bool(0, 0) == true)
    #expect(rows.int(0, 1) == -5)
    #expect(rows.uuid(0, 2) == id)
    #expect(rows.text(0, 3) == "สวัสดี")
    #expect(rows.text(0, 4) == "")
    #expect(rows.bytes(0, 5) == [0, 255])
    #expect(rows.json(0, 6) == Array("{\"a\": 1}".utf8))
    #expect(rows.time(0, 7) == time)
    #expect(rows.isNull(0, 8))
    #expect(rows.int(0, 9) == 2)
    #expect(rows.text(0, 10) == "'; DROP TABLE chats; --")
    #expect(rows.text(0, 12) == "{-1,1099511627776}")
    #expect(rows.text(0, 13) == "1969-12-31 2024-02-29", "the third date does not exist")
  }

  @Test(arguments: [
    "postgresql://u:se/cret@h/x", "password=secret host", "postgresql://u:secret@[h",
    "postgresql://u:sec@ret@localhost/x",
  ])
  func `a malformed URL is not repeated, because it may contain a password`(url: String) {
    let malformed =
      "the database's URL or connection string is malformed; in a password write @ as %40, / as %2F"
    #expect(throws: QueryFailure.unavailable(reason: malformed)) { try BlockingConnection(url) }
  }

  @Test func `a refused query has an SQLSTATE, and the connection stays usable`() throws {
    let connection = try database.connect()
    #expect(throws: QueryFailure.refused(SQLState("22012"), message: "division by zero")) {
      try connection.run(Query("SELECT 1 / 0"))
    }
    #expect(try connection.run(Query("SELECT 7")).int(0, 0) == 7)
  }

  @Test func `the error of a script carries line, hint and detail`() throws {
    let connection = try database.connect()
    do {
      try connection.execute(script: "SELECT 1;\n\nSELECT upper_case('ä');\nSELECT 2")
      Issue.record("a script with an unknown function was accepted")
    } catch ScriptFailure.refused(let refusal, let line) {
      #expect(refusal.state == SQLState("42883"))
      #expect(line == 3)
      #expect(refusal.hint != nil)
    }
  }

  @Test func `an error inside a transaction rolls it back`() throws {
    let connection = try database.connect()
    try connection.execute(script: "CREATE TABLE t (n int)")
    #expect(throws: QueryFailure.self) {
      try connection.transaction { connection in
        try connection.execute(script: "INSERT INTO t VALUES (1)")
        try connection.run(Query("SELECT 1 / 0"))
      }
    }
    #expect(try connection.run(Query("SELECT count(*) FROM t")).int(0, 0) == 0)
    try connection.transaction { try $0.execute(script: "INSERT INTO t VALUES (1)") }
    #expect(try connection.run(Query("SELECT count(*) FROM t")).int(0, 0) == 1)
  }

  @Test func `a missing server is unavailable, with the reason`() {
    #expect {
      try BlockingConnection("postgresql:///chirrup?host=/nowhere&user=chirrup")
    } throws: { error in
      guard case QueryFailure.unavailable(let reason) = error else { return false }
      return reason.contains("/nowhere")
    }
  }

  @Test func `affected rows are counted`() throws {
    let connection = try database.connect()
    try connection.execute(script: "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2), (3)")
    #expect(try connection.run(Query("DELETE FROM t WHERE n > 1")).affected == 2)
  }

  @Test func `the writable host of several is used, and a single host in any state`() throws {
    let folder = try #require(database.url.firstMatch(of: /host=([^&]+)/)).1
    let readOnly = database.url + "&options=-c%20default_transaction_read_only%3Don"
    let several = readOnly.replacing("host=\(folder)", with: "host=\(folder),\(folder)")
    _ = try BlockingConnection(readOnly).run(Query("SELECT 1"))
    #expect(throws: QueryFailure.self) { try BlockingConnection(several) }
    _ = try BlockingConnection(several + "&target_session_attrs=any").run(Query("SELECT 1"))
    let takesWrites = database.url.replacing("host=\(folder)", with: "host=\(folder),\(folder)")
    _ = try BlockingConnection(takesWrites).run(Query("SELECT 1"))
  }
}
