import Chat
import Primitives

/// The presence of sessions on other gateways, as their owners there last sent it. It is kept for
/// sessions whose presence an operator here receives; these are queried every few seconds. The
/// state of a gateway that sends none any more, because it was killed, expires.
struct PresenceElsewhere {
  private struct State {
    var presence: PeerPresence
    var expiresAt: Instant
  }

  /// By session, then by gateway.
  private var watched: [Identifier: [Identifier: State]] = [:]
  /// Sessions that other gateways watch, and until when they need changes.
  private var queried: [Identifier: Instant] = [:]
  private var nextQuery = Instant.zero

  // MARK: Sessions that operators here watch

  /// - Returns: whether the session was not watched before, and now is.
  mutating func watch(_ session: Identifier) -> Bool {
    guard watched[session] == nil, watched.count < Limits.watchedPresences else { return false }
    watched[session] = [:]
    return true
  }

  mutating func forget(_ session: Identifier) {
    if !watched.isEmpty { watched[session] = nil }
  }

  /// The watched sessions, in the order of their ids.
  var sessions: [Identifier] { watched.keys.sorted() }

  mutating func take(_ state: PeerPresence, from gateway: Identifier, now: Instant) {
    guard let known = watched[state.session],
      known[gateway] != nil || known.count < Limits.presenceGateways
    else { return }
    watched[state.session]?[gateway] = State(
      presence: state,
      expiresAt: now.advanced(byMilliseconds: Limits.presenceSilenceMilliseconds))
  }

  mutating func expire(_ session: Identifier, now: Instant) {
    watched[session] = watched[session]?.filter { now < $0.value.expiresAt }
  }

  func hasExpired(_ session: Identifier, now: Instant) -> Bool {
    watched[session]?.contains { now >= $0.value.expiresAt } ?? false
  }

  func hasVisitor(_ session: Identifier) -> Bool {
    watched[session]?.contains { $0.value.presence.hasVisitor } ?? false
  }

  func viewers(of session: Identifier) -> [Person] {
    guard let states = watched[session] else { return [] }
    return states.sorted { $0.key < $1.key }.flatMap(\.value.presence.viewers)
  }

  /// Whether a person left this gateway who is still present on another one.
  func contradicts(_ item: PresenceMail) -> Bool {
    guard !watched.isEmpty else { return false }
    if item.isOnline == false { return hasVisitor(item.session) }
    return item.isViewing == false
      && viewers(of: item.session).contains { $0.id == item.person.id }
  }

  /// - Returns: whether the watched sessions are to be queried now: once for each interval.
  mutating func beginQueryIfDue(now: Instant) -> Bool {
    guard now >= nextQuery else { return false }
    nextQuery = now.advanced(byMilliseconds: Limits.presenceQueryMilliseconds)
    queried = queried.filter { now < $0.value }
    return true
  }

  // MARK: Sessions that other gateways watch

  mutating func noteQuery(_ session: Identifier, now: Instant) {
    guard queried[session] != nil || queried.count < Limits.watchedPresences else { return }
    queried[session] = now.advanced(byMilliseconds: Limits.presenceSilenceMilliseconds)
  }

  /// A query that has ended may count for some seconds more.
  func isQueried(_ session: Identifier) -> Bool {
    !queried.isEmpty && queried[session] != nil
  }
}
