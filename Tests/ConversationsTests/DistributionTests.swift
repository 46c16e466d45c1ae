import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

/// The promise of config/DATABASE.md: data can be distributed over machines by workspace.
@Suite struct DistributionTests {
  @Test("every statement of the readers names the workspace at each table of a session's data")
  func keys() throws {
    let id = Workplace.identifier()
    let member = Operator(
      id: id, email: "", name: "", membership: "agent", workspace: id)
    var lists = [nil, "waiting", "open", "closed"].map { status in
      var list = ConversationList(limit: 1)
      list.status = status
      return list
    }
    for index in lists.indices {
      var found = lists[index]
      found.search = "x"
      found.tag = "vip"
      found.visitor = id
      lists.append(found)
    }
    let lines = StateChange.Lines(event: id, note: id)
    let queries = [
      conversationQuery(id, of: id), ConversationCounts.of(id, me: id).query,
      QueuePositions.statement(of: id, isOpen: true, now: Workplace.now).query,
      Assignment.isDue(in: id),
      Assignment.assignNext(in: id),
      Assignment.release(in: id, steadySeconds: 1, limit: 1),
      MessageRange.after(1).page(of: id, workspace: id, limit: 1).query,
      MessageRange.before(1).page(of: id, workspace: id, limit: 1).query,
      StateChange.closed.statement(session: id, by: member, lines).query,
      Claim(session: id, member: member, line: id).statement.query,
      Claim(session: nil, member: member, line: id).statement.query,
      Transfer(session: id, member: member, to: .member(id), reason: nil, lines: lines)
        .statement.query,
    ]
    let pages = lists.flatMap { [$0.page(of: id).query, $0.countMatches(in: id).query] }
    for query in queries + pages {
      let text = "\(query.sql)"
      let tables = text.matches(
        of: /(?:FROM|JOIN|UPDATE|INTO) (chats|chat_sessions|visitors|read_marks)\b/)
      let keys = text.matches(of: /workspace_id = \$|\(id, workspace_id/)
      #expect(!tables.isEmpty && keys.count >= tables.count, "\(text)")
    }
  }
}
