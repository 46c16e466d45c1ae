/// Requests after which somebody may not come in any more: they are answered when the old token
/// reads and writes nothing more on this gateway. Other gateways follow within a second.
import Conversations
import Directory
import Primitives

extension Route {
  /// Whom a route shuts out.
  enum ShutOut: Sendable {
    /// The `{id}` of the path.
    case named
    case caller
  }
}

extension API {
  /// After the commit. What cannot be confirmed in time stands all the same.
  func shutOut(_ id: Identifier) async throws(Problem) {
    guard await sessions.shutOut([id], after: calls.end(of: [id])) else { throw .notConfirmed }
  }
}

extension Problem {
  static let notConfirmed = Problem(
    status: 503, type: "not_confirmed", title: "Not confirmed",
    detail: "The change is stored and new connections are refused, but this gateway could not "
      + "confirm in time that every old one has ended; look again in some seconds."
  ).retry(afterSeconds: 2)
}
