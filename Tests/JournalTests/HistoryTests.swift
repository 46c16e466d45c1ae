import Chat
import Postgres
import Primitives
import Testing

@testable import Journal

@Suite struct HistoryTests {
  let database: TestDatabase
  init() throws { database = try TestDatabase() }

  @Test func `a session is read with its visitor, assignee and marks`() throws {
    let visitor = freshIdentifier()
    let dana = Person(role: .operator_, id: freshIdentifier(), name: Array("Dana".utf8))
    let session = try database.session()
    try database.sql.run(
      Query(
        "INSERT INTO visitors (id, workspace_id, name) VALUES ($1, $2, 'Vera')",
        [.uuid(visitor), .uuid(database.workspace)]))
    try database.sql.run(
      Query("INSERT INTO operators (id, email, name) VALUES ($1, 'd@x', 'Dana')", [.uuid(dana.id)]))
    try database.sql.run(
      Query(
        """
        UPDATE chat_sessions SET user_id = $2, assigned_operator_id = $3, operator_name = 'Dana',
          title = 'Hilfe' WHERE id = $1
        """, [.uuid(session), .uuid(visitor), .uuid(dana.id)]))
    let vera = Person(role: .visitor, id: visitor, name: Array("Vera".utf8))
    try database.sql.run(
      History.markQuery(session, of: database.workspace, vera, read: 4, delivered: 9))
    try database.sql.run(
      History.markQuery(session, of: database.workspace, vera, read: 7, delivered: 8))
    try database.sql.run(
      History.markQuery(session, of: database.workspace, dana, read: 1, delivered: 2))
    try database.sql.run(
      History.markQuery(freshIdentifier(), of: database.workspace, dana, read: 1, delivered: 2))

    let decoded = History.decodeSession(try database.sql.run(History.sessionQuery(session)))
    let snapshot = try #require(decoded)
    #expect(snapshot.id == session)
    #expect(snapshot.workspace == database.workspace)
    #expect(snapshot.visitor == vera)
    #expect(snapshot.assignee == dana)
    #expect(snapshot.title == Array("Hilfe".utf8))
    #expect(snapshot.epoch == Array("1".utf8))
    #expect(snapshot.head == 0)
    #expect(snapshot.status == .active)
    #expect(snapshot.marks.count == 2)
    #expect(snapshot.marks.contains(Mark(person: vera, read: 7, delivered: 9)))
    #expect(snapshot.marks.contains(Mark(person: dana, read: 1, delivered: 2)))

    try database.sql.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1", [.uuid(session)]))
    #expect(History.decodeSession(try database.sql.run(History.sessionQuery(session))) == nil)
  }

  @Test func `pages in both directions return entries in ascending order, unchanged`() throws {
    let session = try database.session()
    let visitor = freshIdentifier()
    let dana = freshIdentifier()
    try database.sql.run(
      Query(
        "INSERT INTO visitors (id, workspace_id, name) VALUES ($1, $2, 'Vera')",
        [.uuid(visitor), .uuid(database.workspace)]))
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    var batch = Batch()
    let text = "สวัสดี مرحبا 👩‍👩‍👧‍👦 <b>'; DROP TABLE chats; --"
    let id = batch.add(session, sender: visitor, body: Array(text.utf8))
    batch.add(
      session, role: .operator_, kind: .card, sender: dana, name: "Dana", body: Array("card".utf8),
      payload: "{\"a\":1}")
    batch.add(session, "Dana joined", role: .system, kind: .event)
    for row in 4...20 { batch.add(session, "row \(row)") }
    writer.submit(&batch, now: monotonicNow())
    let outcomes = try complete(&writer)

    let page = try database.page(session, after: 0, limit: 3)
    #expect(page.isFull)
    let first = page.entries
    #expect(first.map(\.seq) == [1, 2, 3])
    #expect(
      first[0]
        == Entry(
          seq: 1, id: id, role: .visitor, kind: .text, sender: visitor,
          senderName: Array("Vera".utf8), body: Array(text.utf8), payload: [], at: outcomes[0].at))
    #expect(first[1].sender == dana)
    #expect(first[1].senderName == Array("Dana".utf8))
    #expect(first[1].payload == Array("{\"a\": 1}".utf8))
    #expect(first[2].role == .system)
    #expect(first[2].kind == .event)
    #expect(first[2].sender == nil)

    let last = try database.page(session, before: 21, limit: 4)
    #expect(last.entries.map(\.seq) == [17, 18, 19, 20])
    #expect(try database.page(session, after: 20, limit: 4) == LogPage(entries: [], isFull: false))
  }

  @Test(
    "a page of long entries ends with the entry that reaches the byte limit, in either direction")
  func longEntries() throws {
    let session = try database.session()
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    var batch = Batch()
    for _ in 1...6 { batch.add(session, String(repeating: "ก", count: 100)) }
    batch.add(
      session, role: .operator_, kind: .card, sender: freshIdentifier(), name: "Dana", body: [],
      payload: "{\"a\": \"\(String(repeating: "b", count: 1_000))\"}")
    writer.submit(&batch, now: monotonicNow())
    _ = try complete(&writer)

    let page = try database.page(session, after: 1, limit: 9, bytes: 600)
    #expect(page.entries.map(\.seq) == [2, 3])
    #expect(page.isFull)
    let more = try database.page(session, after: 1, limit: 9, bytes: 601)
    #expect(more.entries.map(\.seq) == [2, 3, 4])
    #expect(try database.page(session, after: 5, limit: 9, bytes: 1).entries.map(\.seq) == [6])
    let last = try database.page(session, before: 8, limit: 9, bytes: 1_001)
    #expect(last.entries.map(\.seq) == [7])
    #expect(last.isFull)
    let rest = try database.page(session, after: 5, limit: 9, bytes: 1_400)
    #expect(rest.entries.map(\.seq) == [6, 7])
    #expect(!rest.isFull)
  }
}
