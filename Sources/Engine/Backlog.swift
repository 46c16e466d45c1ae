public import Chat
import Primitives
import Wire

/// Entries that come from the database: the backlog of a subscriber, a page of history, and what
/// was committed behind this loop's back.
extension Engine {
  mutating func history(_ connection: ConnectionIndex, _ command: Command) {
    guard let id = command.session, let index = sessions.index(of: id),
      subscription(connection, of: index) != nil
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

  /// The answer to `ReadRequest.entries` and `.entriesBefore`; nil when the store did not answer.
  public mutating func entriesLoaded(_ request: ReadRequest, _ page: LogPage?) {
    switch request {
    case .entries(let session, _, _, let purpose), .entriesBefore(let session, _, _, let purpose):
      switch purpose {
      case .backlog(let id): backlogLoaded(session, id, page?.entries)
      case .history(let id, let ref): historyLoaded(request, id, ref, page)
      case .catchUp: newsLoaded(session, page)
      }
    default: preconditionFailure("only requests for entries are answered with entries")
    }
  }

  private mutating func backlogLoaded(
    _ session: Identifier, _ id: ConnectionID, _ entries: [Entry]?
  ) {
    guard connections.contains(id), let index = sessions.index(of: session) else { return }
    let connection = id.index
    guard let position = subscription(connection, of: index) else { return }
    connections[connection].subscriptions[position].isPageInFlight = false
    guard let entries else {
      // The sweep of the timers asks again: see `retryBacklogs`.
      return
    }
    let isOperator = connections[connection].isOperator
    var next = connections[connection].subscriptions[position].next
    let start = next
    // The rest of a page of large messages is read again when these have left. What the page holds
    // above the head will be pushed when this loop hears of it, so that `live` tells the truth.
    let head = sessions[index].head
    for entry in entries
    where entry.seq == next && next <= head
      && connections[connection].outbox.count < Limits.backlogBytes
    {
      appendConversation(connection) {
        if entry.kind == .note && !isOperator {
          EventEncoder.hidden(session: session, seq: entry.seq, to: &$0)
        } else {
          EventEncoder.message(entry, session: session, to: &$0)
        }
      }
      next += 1
    }
    counts.delivered += UInt64(next - start)
    connections[connection].subscriptions[position].next = next
    // A page that brought nothing (the subscription moved, or the store is behind) waits for the
    // sweep, so that it cannot become a busy loop.
    if next > start { markNews(connection, position) }
  }

  /// Connections whose backlog stands still because the store did not answer try again.
  mutating func retryBacklogs(_ connection: ConnectionIndex) {
    for subscription in connections[connection].subscriptions
    where !subscription.isPageInFlight && subscription.next <= sessions[subscription.session].head {
      connections[connection].mustPumpAll = true
      connections.markDirty(connection)
      return
    }
  }

  private mutating func historyLoaded(
    _ request: ReadRequest, _ id: ConnectionID, _ ref: Reference, _ page: LogPage?
  ) {
    guard connections.contains(id) else { return }
    let connection = id.index
    connections[connection].hasHistoryInFlight = false
    guard connections.isOpen(connection), let member = connections[connection].member else {
      return
    }
    guard let page else {
      connections.refuse(
        connection, ref, .unavailable,
        retryAfter: breaker.wait(salt: connections[connection].salt, now: now))
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
        ref: ref, session: session, page.entries, hasMore: hasMore, isOperator: member.isOperator,
        to: &json)
    }
    if member.isOperator && page.entries.contains(where: { $0.kind == .note }) {
      // What visitors must not read is not compressed together with their texts: see Deflating.
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection], body: encode)
    } else {
      appendConversation(connection, encode)
    }
    connections.markDirty(connection)
  }

  private mutating func newsLoaded(_ session: Identifier, _ page: LogPage?) {
    guard let index = sessions.index(of: session) else { return }
    sessions[index].isReading = false
    guard let page else {
      sessions[index].isStale = true
      return
    }
    for entry in page.entries where entry.seq == sessions[index].head + 1 {
      sessions[index].log.append(isNote: entry.kind == .note) {
        EventEncoder.message(entry, session: session, to: &$0)
      }
      sessions[index].snapshot.head = entry.seq
    }
    touch(index)
    if page.isFull {
      readNews(index)
    } else if sessions[index].isStale {
      reread(index)
    }
  }

  /// The session has something new for its subscribers, followers and the operators' lists.
  mutating func touch(_ index: SessionIndex) {
    sessions.markDirty(index)
    touchInbox(index)
  }

  /// Mails what is new to the loops that follow: one mail for each session, loop and iteration.
  mutating func postLog(_ index: SessionIndex) {
    let head = sessions[index].head
    guard sessions[index].isOwned, sessions[index].postedSeq < head else { return }
    let from = max(sessions[index].postedSeq + 1, sessions[index].log.first)
    sessions[index].postedSeq = head
    guard sessions[index].followers != 0 else { return }
    let part = sessions[index].log.part(from: from)
    let id = sessions[index].id
    effects.post(
      .log(session: id, part), toEach: sessions[index].followers)
  }
}
