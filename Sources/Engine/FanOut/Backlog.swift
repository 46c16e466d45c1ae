import Chat
import Primitives
import Wire

/// Entries read from the database: a subscriber's backlog and pages of history.
extension FanOut {
  /// The command `history`.
  func history(
    _ connection: ConnectionIndex, _ command: Command, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard let id = command.session, let index = sessions.index(of: id),
      connections.subscription(connection, of: index, sessions) != nil
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    guard !connections[connection].hasHistoryInFlight else {
      connections.refuse(
        connection, command.ref, .rateLimited, sentence: "One history command at a time.",
        retryAfter: 200)
      return
    }
    connections[connection].hasHistoryInFlight = true
    let limit = min(max(Int(command.limit ?? 50), 1), Limits.pageEntries)
    let purpose = ReadRequest.Purpose.history(
      connection: connections.id(at: connection), ref: command.ref)
    if let after = command.after {
      effects.read(.entries(session: id, after: after, limit: limit, purpose))
    } else {
      let before = command.before ?? sessions[index].head + 1
      effects.read(.entriesBefore(session: id, before: before, limit: limit, purpose))
    }
  }

  /// Sends a page of a subscriber's backlog.
  /// - Parameter entries: nil when the store did not answer.
  mutating func backlogLoaded(
    _ session: Identifier, _ id: ConnectionID, _ entries: [Entry]?,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable
  ) {
    guard connections.contains(id), let index = sessions.index(of: session) else { return }
    let connection = id.index
    guard let subscription = connections.subscription(connection, of: index, sessions) else {
      return
    }
    connections[connection].subscriptions[subscription].isPageInFlight = false
    // Without an answer, the sweep retries: see `ConnectionTable.retryBacklog`.
    guard let entries else { return }
    let isOperator = connections[connection].isOperator
    var next = connections[connection].subscriptions[subscription].next
    let start = next
    // A page of large messages may exceed the bound; the rest is read again once this output has
    // left. Entries above the head wait until this loop knows them, so that `live` is correct.
    let head = sessions[index].head
    for entry in entries
    where entry.seq == next && next <= head
      && connections[connection].outbox.count < Limits.backlogBytes
    {
      sendConversation(connection, &connections) {
        if entry.kind == .note && !isOperator {
          EventEncoder.hidden(session: session, seq: entry.seq, to: &$0)
        } else {
          EventEncoder.message(entry, session: session, to: &$0)
        }
      }
      next += 1
    }
    delivered += UInt64(next - start)
    connections[connection].traffic.messagesOut &+= UInt64(next - start)
    connections[connection].subscriptions[subscription].next = next
    // After a page without a usable entry (the subscription moved, or the store is behind), the
    // sweep continues. To retry at once could become a busy loop.
    if next > start { connections.markNews(connection, subscription) }
  }

  /// Answers the command `history`.
  /// - Parameters:
  ///   - page: nil when the store did not answer.
  ///   - retryAfter: in milliseconds.
  mutating func historyLoaded(
    _ request: ReadRequest, _ id: ConnectionID, _ ref: Reference, _ page: LogPage?,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable, retryAfter: Int64
  ) {
    guard connections.contains(id) else { return }
    let connection = id.index
    connections[connection].hasHistoryInFlight = false
    guard connections.isOpen(connection),
      let isOperator = connections[connection].member?.isOperator
    else { return }
    guard let page else {
      connections.refuse(connection, ref, .unavailable, retryAfter: retryAfter)
      return
    }
    let session: Identifier
    let hasMore: Bool
    switch request {
    case .entriesBefore(let id, _, _, _):
      session = id
      hasMore = page.isFull && (page.entries.first?.seq ?? 1) > 1
    case .entries(let id, _, _, _):
      session = id
      let head = sessions.index(of: id).map { sessions[$0].head } ?? 0
      hasMore = page.isFull && (page.entries.last?.seq ?? head) < head
    default: return
    }
    let encode = { (json: inout [UInt8]) in
      EventEncoder.history(
        ref: ref, session: session, page.entries, hasMore: hasMore, isOperator: isOperator,
        to: &json)
    }
    if isOperator && page.entries.contains(where: { $0.kind == .note }) {
      // Notes are not compressed together with visitors' texts: see Deflating.swift.
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection], body: encode)
    } else {
      sendConversation(connection, &connections, encode)
    }
    connections.markDirty(connection)
  }
}
