/// Quotas of visitors over all their connections (issue 17.1).
import Chat
import Engine
import Primitives
import Testing

@Suite struct QuotaTests {
  private func post(_ client: Client, _ session: Identifier, _ number: Int) {
    client.post("\(number)", to: session, ref: number)
  }

  private func answers(_ client: Client) -> [String] {
    client.texts().compactMap { text in
      switch field("type", of: text) {
      case "ack": "ack"
      case "error": field("code", of: text)
      default: nil
      }
    }
  }

  @Test("two connections of a visitor share the quota; the refusal names it, and a retry passes")
  func visitor() throws {
    var quotas = QuotaTable.Configuration()
    quotas.visitor = .init(messagesPerMinute: 6)
    let world = World(quotas: quotas)
    let session = world.makeSession()
    let (one, two) = (world.member("visitor", session), world.member("visitor", session))
    _ = (one.texts(), two.texts())
    for number in 1...6 { post(number % 2 == 0 ? one : two, session, number) }
    world.commit()
    #expect(answers(one).filter { $0 == "ack" }.count == 3)
    #expect(answers(two).filter { $0 == "ack" }.count == 3)
    let id = world.makeID()
    two.post("7", to: session, id: id, ref: 7)
    let refusal = try #require(two.texts().last)
    #expect(field("code", of: refusal) == "rate_limited")
    #expect(field("retry_after_ms", of: refusal) == "10000")
    #expect(refusal.contains("This visitor sends too many messages."))
    world.advance(milliseconds: 10_000)
    two.post("7", to: session, id: id, ref: 7)
    world.commit()
    #expect(answers(two).contains("ack"))
  }

  @Test("stored bytes of a visitor are limited, an operator's are not")
  func bytes() throws {
    var quotas = QuotaTable.Configuration()
    quotas.visitor = .init(kibibytesPerDay: 20)
    let world = World(quotas: quotas)
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = (ada.texts(), mika.texts())
    let large = String(repeating: "x", count: 16_384)
    ada.post(large, to: session, ref: 1)
    ada.post(large, to: session, ref: 2)
    let refusal = try #require(ada.texts().last)
    #expect(field("code", of: refusal) == "rate_limited")
    #expect(refusal.contains("stored as much as a day allows"))
    for number in 1...3 { mika.post(large, to: session, ref: number) }
    world.commit()
    #expect(answers(mika).filter { $0 == "ack" }.count == 3)
  }

  @Test("visitors of one address share a quota, those of an exempt one do not")
  func address() throws {
    var quotas = QuotaTable.Configuration()
    quotas.address = .init(messagesPerMinute: 2)
    let world = World(quotas: quotas)
    let session = world.makeSession()
    func visitor(_ token: String, _ number: UInt64, address: UInt32) -> Client {
      world.members[token] = Member(
        person: Person(role: .visitor, id: Identifier(high: 0xE, low: number), name: []),
        workspace: world.workspace, sessions: [session],
        expiresAt: WallTime(microseconds: world.wall.microseconds + 900_000_000),
        address: address)
      return world.member(token, session)
    }
    let clients = [
      visitor("a", 1, address: 5), visitor("b", 2, address: 5), visitor("c", 3, address: 6),
      visitor("d", 4, address: 0),
    ]
    for client in clients { _ = client.texts() }
    for client in clients { for number in 1...2 { post(client, session, number) } }
    world.commit()
    #expect(clients.map { client in answers(client).filter { $0 == "ack" }.count } == [2, 0, 2, 2])
  }

  @Test("a visitor with conversations on three loops has one quota, also after a sweep")
  func loops() throws {
    var quotas = QuotaTable.Configuration()
    quotas.visitor = .init(messagesPerMinute: 30)
    let world = World(loops: 3, quotas: quotas)
    let clients = (0..<3).map { loop in
      let session = world.makeSession(ownedBy: loop)
      return (session: session, client: world.member("visitor", session))
    }
    for place in clients { _ = place.client.texts() }
    var accepted = 0
    for number in 1...15 {
      for place in clients { post(place.client, place.session, number) }
      world.commit()
      world.advance(milliseconds: 0)
      for place in clients { accepted += answers(place.client).filter { $0 == "ack" }.count }
    }
    #expect(accepted == 30)
  }
}
