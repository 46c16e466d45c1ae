/// Rooms: sessions with many subscribers. In each a visitor sends, over several connections, and
/// operators' connections listen.
import Primitives

extension ClientGroup {
  /// The gateway limits each connection to 20 messages a second.
  static let talkersOfRoom = 10

  /// Deals rooms to the processes in turn; the connections of a room are adjacent. Every
  /// `stopsEvery`th listener can be stopped from reading; 0 for none.
  static func rooms(
    _ credentials: [Credential], count: Int, followers: Int, processes: Int, stopsEvery: Int = 0
  ) -> [ClientGroup] {
    let operators = credentials.filter { $0.kind == .operator_ }
    let visitors = credentials.filter { $0.kind == .visitor }
    precondition(!operators.isEmpty && visitors.count >= count, "a room has people")
    var groups = Array(repeating: ClientGroup(), count: processes)
    var number = 0
    var listeners = 0
    for room in 0..<count {
      guard let session = visitors[room].session else { continue }
      let process = room % processes
      let place = groups[process].sessions.count
      groups[process].sessions.append(session)
      for follower in 0..<max(1, followers) {
        var member = Member(
          number: number, role: .visitor, token: visitors[room].token, sessions: [place])
        if follower >= min(ClientGroup.talkersOfRoom, max(1, followers / 2)) {
          listeners += 1
          member.role = .operator_
          member.token = operators[listeners % operators.count].token
          if stopsEvery > 0, listeners % stopsEvery == 0 { member.behaviour = .stopping }
        }
        groups[process].members.append(member)
        number += 1
      }
    }
    return groups.filter { !$0.members.isEmpty }
  }
}
