/// Requests that revoke somebody's access. Their response is sent after every request and
/// connection of that person on this gateway has ended; other gateways follow within a second.
import Conversations
import Directory
import Primitives

extension Route {
  /// The person whose access a route revokes.
  enum Disconnection: Sendable {
    /// The `{id}` of the path.
    case target
    /// The same for a visitor, with the browsers of those merged into this one.
    case visitor
    case caller
  }
}

extension API {
  /// Called after the commit. If the end of all connections is not confirmed in time, the change
  /// remains.
  func disconnect(_ ids: Set<Identifier>) async throws(Problem) {
    guard await sessions.shutOut(ids, after: callsInFlight.end(of: ids)) else {
      throw .notConfirmed
    }
  }
}

extension Problem {
  static let notConfirmed = Problem(
    status: 503, type: "not_confirmed", title: "Not confirmed",
    detail: "The change is stored and new connections are refused, but not every open connection "
      + "is known to have ended yet. Check again in a few seconds."
  ).retry(afterSeconds: 2)
}
