import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

@testable import Gateway

@Suite("Deleted conversations on several gateways", .serialized)
struct DeletionTests {
  @Test("a deletion ends the subscriptions and updates the lists of each gateway, from SQL too")
  func everywhere() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let admin = try nodes.here.operatorAndToken()
    let clerk = try SocketClient(port: nodes.here.port)
    try clerk.say(
      #"{"type":"hello","ref":1,"token":"\#(admin.token)"}"# + "\n"
        + #"{"type":"watch","ref":"w","inbox":true}"#)
    _ = try clerk.hear(#""ref":"w""#)
    let noa = try nodes.onlooker(on: nodes.there)
    let visit = try nodes.visitor(on: nodes.there)
    let quiet = try nodes.here.visitor()
    try clerk.say(#"{"type":"subscribe","ref":2,"session":"\#(visit.session)","after":0}"#)
    _ = try clerk.hear(#""live""#)

    let status = try nodes.here.request(
      "DELETE", "conversations/\(visit.session)", token: admin.token)
    #expect(status == "204")
    for client in [visit.client, clerk] {
      let ended = try client.hear(#""type":"unsubscribed""#)
      #expect(
        ended.contains {
          $0.contains(#""type":"unsubscribed""#) && $0.contains("no_such_session")
        })
    }
    for client in [noa, clerk] {
      _ = try client.hear(#""session":"\#(visit.session)","removed":true"#)
    }
    // Neither the log nor a further message is available.
    try visit.client.say(
      #"{"type":"subscribe","ref":"again","session":"\#(visit.session)","after":0}"#)
    _ = try visit.client.hear(#""type":"error","ref":"again""#)

    // A conversation that no gateway has in memory, deleted by a statement.
    try nodes.here.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1", [.uuid(quiet.session)]))
    for client in [noa, clerk] {
      _ = try client.hear(#""session":"\#(quiet.session)","removed":true"#)
    }

    #expect(
      try nodes.here.post("conversations/\(visit.session)/restore", token: admin.token) == "200")
    try visit.client.say(
      #"{"type":"subscribe","ref":"back","session":"\#(visit.session)","after":0}"#)
    _ = try visit.client.hear(#""type":"subscribed","ref":"back""#)
    try visit.client.post("still here", to: visit.session)
  }

  @Test("behind a pooler, without notifications, a deletion by SQL reaches subscribers and lists")
  func unnotified() async throws {
    let database = try EmptyDatabase().url
    try Migrator(BlockingConnection(database)).up { _ in }
    let pooler = try Pooler(before: database)
    let gateway = try await RunningGateway(database: pooler.url)
    defer { gateway.stop() }
    let admin = try gateway.operatorAndToken()
    let clerk = try SocketClient(port: gateway.port)
    try clerk.say(
      #"{"type":"hello","ref":1,"token":"\#(admin.token)"}"# + "\n"
        + #"{"type":"watch","ref":"w","inbox":true}"#)
    _ = try clerk.hear(#""ref":"w""#)
    let followed = try gateway.visitor()
    let quiet = try gateway.visitor()
    try clerk.say(#"{"type":"subscribe","ref":2,"session":"\#(followed.session)","after":0}"#)
    _ = try clerk.hear(#""live""#)
    try gateway.run(Query("UPDATE chat_sessions SET deleted_at = now()"))
    // The two events arrive in any order; the list repeats its event for some seconds.
    let ended = try clerk.hear(#""type":"unsubscribed""#)
    #expect(ended.contains { $0.contains("no_such_session") })
    _ = try clerk.hear(#""session":"\#(quiet.session)","removed":true"#)
  }

  @Test("each message is acknowledged and stored, or refused, while its conversation is deleted")
  func race() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let admin = try gateway.operatorAndToken()
    for _ in 0..<5 {
      let visit = try gateway.visitor()
      let client = try SocketClient(port: gateway.port)
      try client.say(
        #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
          + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
      _ = try client.hear(#""live""#)
      for number in 0..<8 {
        try send(number, to: visit.session, client)
      }
      #expect(
        try gateway.request("DELETE", "conversations/\(visit.session)", token: admin.token)
          == "204")
      for number in 8..<12 {
        try send(number, to: visit.session, client)
      }
      var acknowledged = 0
      for number in 0..<12 {
        let answer =
          try client.hear(#""ref":"m\#(number)""#)
          .first { $0.contains(#""ref":"m\#(number)""#) } ?? ""
        if answer.contains(#""type":"ack""#) { acknowledged += 1 }
        #expect(answer.contains(#""type":"ack""#) || answer.contains(#""type":"error""#))
      }
      #expect(try gateway.stored(visit.session).count == acknowledged)
    }
  }

  private func send(_ number: Int, to session: Identifier, _ client: SocketClient) throws {
    let id = RunningGateway.makeID()
    try client.say(
      #"{"type":"send","ref":"m\#(number)","session":"\#(session)","id":"\#(id)","#
        + #""body":"message \#(number)"}"#)
  }
}
