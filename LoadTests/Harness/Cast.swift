/// Who plays: sessions, their visitors, and the operators' connections, split over the loops so
/// that a session and everybody in it live on one loop.
import Primitives

/// What `chirrup token` printed about one person.
struct Credential: Equatable, Sendable, Codable {
  enum Kind: String, Codable { case visitor, operator_ }

  var kind: Kind
  var token: String
  /// A visitor's session.
  var session: Identifier?
}

/// The clients of one loop.
struct Cast: Sendable, Codable {
  struct Part: Sendable, Codable {
    var number: Int
    var role: Client.Role
    var token: String
    /// Places in `sessions`.
    var sessions: [Int]
    var habit = Habit.plain
  }

  /// What a client does besides talking.
  enum Habit: String, Codable {
    case plain
    /// Offers permessage-deflate.
    case deflating
    /// Reads in fits.
    case slow
    /// Leaves and comes back late.
    case wandering
    /// Ceases to read, when it is told to; the kernel keeps little for it.
    case stopping
  }

  var sessions: [Identifier] = []
  var parts: [Part] = []

  /// Sessions are dealt to the operators in turn, each to as many of one loop as
  /// `operatorsPerSession` says in the mean; an operator opens as many connections as its share
  /// needs.
  static func split(
    _ credentials: [Credential], loops: Int, operatorsPerSession: Double = 1, subscriptionsMax: Int
  ) -> [Cast] {
    var casts = Array(repeating: Cast(), count: loops)
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
        place = (turn % loops, casts[turn % loops].sessions.count)
        casts[place.loop].sessions.append(session)
        for follower in followers(of: places.count, turn, operatorsPerSession, loops, operators) {
          shares[follower].append(place.index)
        }
        places[session] = place
      }
      casts[place.loop].parts.append(
        Part(number: number, role: .visitor, token: credential.token, sessions: [place.index]))
      number += 1
    }
    for (turn, share) in shares.enumerated() {
      for start in stride(from: 0, to: share.count, by: subscriptionsMax) {
        let sessions = Array(share[start..<min(start + subscriptionsMax, share.count)])
        casts[turn % loops].parts.append(
          Part(
            number: number, role: .operator_, token: operators[turn].token, sessions: sessions))
        number += 1
      }
    }
    return casts
  }

  /// The operators of a session: the one whose turn it is, and the next ones of the same loop.
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
