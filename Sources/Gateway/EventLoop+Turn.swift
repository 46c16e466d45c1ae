import Kernel
import Postgres
import Primitives

/// How long one turn may go on, so that nobody holds a loop by being many: a thousand sockets that
/// have something to say, a hundred answers of the database, a conversation with ten thousand
/// followers.
///
/// Each part of a turn does at least one thing, and looks at the clock behind each. What is left
/// when its time is over is the next turn's, which does not wait; the order of the others stays as
/// it was. How long one thing takes is bounded by the bounds of its input.
extension EventLoop {
  /// Milliseconds from the beginning of the turn until which each part begins something.
  enum TurnLimit: Int64 {
    case mail = 4
    case sockets = 8
    case store = 9
    case output = 11
    case closing = 12
  }

  func isOver(_ limit: TurnLimit) -> Bool {
    SystemClock.now() >= now.advanced(byMilliseconds: limit.rawValue)
  }

  /// Something of this turn was left to the next one.
  var hasLeftOver: Bool {
    mailTaken < mail.count || dirtyFlushed < dirty.count || store.hasAnswers
      || sockets.hasDoomed
  }

  /// Sockets that have something to read or room to write. Those that were passed over are first
  /// next time; epoll reports them again, except those that wait for a ClientHello.
  mutating func dispatchEvents() {
    var first = 0
    for position in 0..<events.count {
      let datum = events[position].datum
      // Batches and answers never wait for peers.
      if datum < Datum.listenerMin { store.note(datum) }
      if datum == nextDatum { first = position }
    }
    nextDatum = Datum.none
    for step in 0..<events.count {
      let position = first + step
      let event = events[position < events.count ? position : position - events.count]
      guard event.datum >= Datum.listenerMin else { continue }
      if nextDatum != Datum.none, !isReportedOnce(event.datum) { continue }
      dispatch(event)
      if nextDatum == Datum.none, step + 1 < events.count, isOver(.sockets) {
        let next = position + 1
        nextDatum = events[next < events.count ? next : next - events.count].datum
      }
    }
  }

  private func isReportedOnce(_ datum: UInt64) -> Bool {
    let id = SocketID(datum: datum)
    guard datum >= Datum.socketMin, sockets.contains(id) else { return false }
    return sockets[id.index].interest.contains(.edgeTriggered)
  }
}
