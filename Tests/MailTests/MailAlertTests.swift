import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@testable import Mail

/// Who learns that a visitor waits, and when.
extension MailOutboxTests {
  /// A conversation that has been in the queue for as long.
  private func waiting(seconds: Int64, saying text: String = "Hello?") async throws -> Identifier {
    let session = try await place.conversation(messages: [text])
    try await wait(session, seconds: seconds)
    return session
  }

  private func wait(_ session: Identifier, seconds: Int64) async throws {
    try await run(
      """
      UPDATE chat_sessions SET status = 'waiting', assigned_operator_id = NULL,
        waiting_since = now() - $3::bigint * interval '1 second'
      WHERE workspace_id = $1::uuid AND id = $2::uuid
      """, [.uuid(session), .int(seconds)])
  }

  private func claim(_ session: Identifier) async throws {
    try await run(
      """
      UPDATE chat_sessions SET status = 'active', assigned_operator_id = $3::uuid,
        waiting_since = NULL WHERE workspace_id = $1::uuid AND id = $2::uuid
      """, [.uuid(session), .uuid(place.mika.id)])
  }

  private func alerts() async throws -> [MailAlert] {
    MailAlert.found(try await place.database.run(MailAlert.find))
      .filter { $0.workspace == place.id }
  }

  private func settings() async throws -> WorkspaceSettings {
    try await place.database.ask(WorkspaceSettings.load(place.id))
  }

  private func add(_ alert: MailAlert) async throws -> Bool {
    let content = try #require(alert.content(try await settings(), publicURL: "https://c.example"))
    return try await place.database.ask(
      MailOutbox.add(
        content, id: alert.id, kind: .alert, workspace: place.id, sealedBy: secrets))
  }

  @Test("a visitor who waits for longer than the setting is found once each time that they wait")
  func alertOnce() async throws {
    let session = try await waiting(seconds: 90, saying: "Is anybody there?")
    #expect(try await alerts() == [], "nobody is to be alerted")
    try await place.set("mail", #"{"alert_to":"team@example.org","alert_after_seconds":120}"#)
    #expect(try await alerts() == [])
    try await place.set("mail", #"{"alert_to":"team@example.org","alert_after_seconds":60}"#)
    let found = try await alerts()
    let alert = try #require(found.first)
    #expect(found.count == 1 && alert.session == session)
    let content = try #require(
      alert.content(try await settings(), publicURL: "https://c.example"))
    #expect(content.to.address == "team@example.org" && content.subject.hasSuffix(" is waiting"))
    #expect(
      content.text.contains("has been waiting for a minute, and nobody has taken")
        && content.text.contains("Is anybody there?")
        && content.text.contains("https://c.example/console#\(session)"))
    #expect(try await alerts().map(\.id) == [alert.id], "as another gateway finds it")
    #expect(try await add(alert))
    #expect(try await add(alert) == false)
    #expect(try await alerts() == [])
    try await claim(session)
    #expect(try await alerts() == [])
    try await wait(session, seconds: 70)
    let again = try await alerts()
    #expect(again.map(\.session) == [session] && again[0].id != alert.id)
  }

  @Test("an alert is not sent once somebody has taken the conversation")
  func alertNeedless() async throws {
    try await place.set("mail", #"{"alert_to":"team@example.org","alert_after_seconds":0}"#)
    let taken = try await waiting(seconds: 20)
    let still = try await waiting(seconds: 10)
    let found = try await alerts()
    #expect(found.map(\.session) == [taken, still])
    for alert in found { #expect(try await add(alert)) }
    try await claim(taken)
    #expect(try await take() == nil)
    let sent = try #require(try await take())
    #expect(sent.id == found[1].id && sent.kind == .alert)
    #expect(try await states() == ["stopped 0 needless empty", "pending 1 "])
  }

  @Test("nobody is alerted outside business hours, nor of what waits for longer than a day")
  func alertHours() async throws {
    try await place.set("mail", #"{"alert_to":"team@example.org"}"#)
    let session = try await waiting(seconds: 400)
    _ = try await waiting(seconds: 200)
    _ = try await waiting(seconds: 86_500)
    #expect(try await alerts().map(\.session) == [session], "the default is 300 s")
    try await place.set("hours", #"{"always":false,"time_zone":"UTC","days":[]}"#)
    #expect(try await alerts() == [])
    try await place.set("hours", #"{"always":true}"#)
    #expect(try await alerts().map(\.session) == [session])
    try await place.set("mail", #"{"alert_to":"team@example.org","alert_after_seconds":"soon"}"#)
    #expect(try await alerts().map(\.session) == [session])
    try await place.set("mail", "no JSON")
    #expect(try await alerts() == [])
  }
}
