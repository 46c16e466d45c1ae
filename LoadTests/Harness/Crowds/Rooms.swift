/// Rooms: sessions with many subscribers. In each a visitor sends, over several connections, and
/// operators' connections listen.
import Primitives

extension Cast {
  /// The gateway limits each connection to 20 messages a second.
  static let talkersOfRoom = 10

  /// Deals rooms to the processes in turn; the connections of a room are adjacent. Every
  /// `stopsEvery`th listener can be stopped from reading; 0 for none.
  static func rooms(
    _ credentials: [Credential], count: Int, followers: Int, processes: Int, stopsEvery: Int = 0
  ) -> [Cast] {
    let operators = credentials.filter { $0.kind == .operator_ }
    let visitors = credentials.filter { $0.kind == .visitor }
    precondition(!operators.isEmpty && visitors.count >= count, "a room has people")
    var casts = Array(repeating: Cast(), count: processes)
    var number = 0
    var listeners = 0
    for room in 0..<count {
      guard let session = visitors[room].session else { continue }
      let process = room % processes
      let place = casts[process].sessions.count
      casts[process].sessions.append(session)
      for follower in 0..<max(1, followers) {
        var part = Part(
          number: number, role: .visitor, token: visitors[room].token, sessions: [place])
        if follower >= min(Cast.talkersOfRoom, max(1, followers / 2)) {
          listeners += 1
          part.role = .operator_
          part.token = operators[listeners % operators.count].token
          if stopsEvery > 0, listeners % stopsEvery == 0 { part.habit = .stopping }
        }
        casts[process].parts.append(part)
        number += 1
      }
    }
    return casts.filter { !$0.parts.isEmpty }
  }
}
