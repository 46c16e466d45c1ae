/// The clients of a run: sessions, their visitors and the operators' connections, split over the
/// loops so that all clients of a session are on one loop.
import Primitives

/// One line of output of `chirrup token`.
struct Credential: Equatable, Sendable, Codable {
  enum Kind: String, Codable { case visitor, operator_ }

  var kind: Kind
  var token: String
  /// A visitor's session.
  var session: Identifier?
}

/// The clients of one loop.
struct ClientGroup: Sendable, Codable {
  struct Member: Sendable, Codable {
    var number: Int
    var role: Client.Role
    var token: String
    /// Indices in `sessions`.
    var sessions: [Int]
    var behaviour = Behaviour.plain
  }

  /// A client's behaviour besides sending.
  enum Behaviour: String, Codable {
    case plain
    /// Offers permessage-deflate.
    case deflating
    /// Receives through the fault proxy's slow listener.
    case slow
    /// Disconnects at times and reconnects late.
    case wandering
    /// Stops reading on request; its receive buffer is small.
    case stopping
  }

  var sessions: [Identifier] = []
  var members: [Member] = []

  /// Deals the sessions to the operators in turn. Each session gets `operatorsPerSession` operators
  /// of its loop on average, and an operator opens as many connections as its subscriptions need.
  static func split(
    _ credentials: [Credential], loops: Int, operatorsPerSession: Double = 1, subscriptionsMax: Int
  ) -> [ClientGroup] {
    var groups = Array(repeating: ClientGroup(), count: loops)
    let operators = credentials.filter { $0.kind == .operator_ }
    var places: [Identifier: (loop: Int, index: Int)] = [:]
    var shares = Array(repeating: [Int](), count: operators.count)
    var number = 0
    for credential in credentials where credential.kind == .visitor {
      guard let session = credential.session else { continue }
      let place: (loop: Int, index: Int)
      if let known = places[session] {
        place = known
      } else {
        let turn = operators.isEmpty ? places.count : places.count % operators.count
        place = (turn % loops, groups[turn % loops].sessions.count)
        groups[place.loop].sessions.append(session)
        for follower in followers(of: places.count, turn, operatorsPerSession, loops, operators) {
          shares[follower].append(place.index)
        }
        places[session] = place
      }
      groups[place.loop].members.append(
        Member(number: number, role: .visitor, token: credential.token, sessions: [place.index]))
      number += 1
    }
    for (turn, share) in shares.enumerated() {
      for start in stride(from: 0, to: share.count, by: subscriptionsMax) {
        let sessions = Array(share[start..<min(start + subscriptionsMax, share.count)])
        groups[turn % loops].members.append(
          Member(
            number: number, role: .operator_, token: operators[turn].token, sessions: sessions))
        number += 1
      }
    }
    return groups
  }

  /// The operators of a session: the next in turn, and the following ones of the same loop.
  private static func followers(
    of session: Int, _ turn: Int, _ mean: Double, _ loops: Int, _ operators: [Credential]
  ) -> [Int] {
    guard !operators.isEmpty else { return [] }
    let count = Int(Double(session + 1) * mean) - Int(Double(session) * mean)
    let loop = turn % loops
    let ofLoop = (operators.count - loop + loops - 1) / loops
    return (0..<min(count, ofLoop)).map { loop + (turn / loops + $0) % ofLoop * loops }
  }
}
