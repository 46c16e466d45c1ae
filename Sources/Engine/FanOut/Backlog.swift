import Chat
import Primitives
import Wire

/// Entries that come from the database: the backlog of a subscriber and a page of history.
extension FanOut {
  mutating func history(
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

  mutating func backlogLoaded(
    _ session: Identifier, _ id: ConnectionID, _ entries: [Entry]?,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable
  ) {
    guard connections.contains(id), let index = sessions.index(of: session) else { return }
    let connection = id.index
    guard let position = connections.subscription(connection, of: index, sessions) else { return }
    connections[connection].subscriptions[position].isPageInFlight = false
    // Without an answer the sweep asks again: see `ConnectionTable.retryBacklog`.
    guard let entries else { return }
    let isOperator = connections[connection].isOperator
    var next = connections[connection].subscriptions[position].next
    let start = next
    // The rest of a page of large messages is read again when these have left. Entries of the page
    // above the head will be pushed when this loop learns of them, so that `live` tells the truth.
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
    countDelivered(next - start)
    connections[connection].subscriptions[position].next = next
    // A page that brought nothing (the subscription moved, or the store is behind) waits for the
    // sweep, so that it cannot become a busy loop.
    if next > start { connections.markNews(connection, position) }
  }

  /// - Parameter page: nil when the store did not answer.
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
      // Notes, which visitors must not read, are not compressed together with visitors' texts: see
      // Deflating.swift.
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection], body: encode)
    } else {
      sendConversation(connection, &connections, encode)
    }
    connections.markDirty(connection)
  }
}
