public import Chat
import Primitives
import Wire

/// Entries that come from the database: the backlog of a subscriber, a page of history, and what
/// was committed behind this loop's back.
extension Engine {
  mutating func history(_ slot: Int, _ command: Command) {
    guard let id = command.session, let index = sessionIndex[id],
      subscription(slot, of: index) != nil
    else {
      refuse(slot, command.ref, .notSubscribed)
      return
    }
    guard !connections[slot].hasHistoryInFlight else {
      refuse(
        slot, command.ref, .rateLimited, sentence: "One history command at a time.",
        retryAfter: 200)
      return
    }
    connections[slot].hasHistoryInFlight = true
    let limit = min(max(Int(command.limit ?? 50), 1), Limits.pageEntries)
    let purpose = ReadRequest.Purpose.history(
      connection: connections.id(at: slot), ref: command.ref)
    if let after = command.after {
      reads.append(.entries(session: id, after: after, limit: limit, purpose))
    } else {
      let before = command.before ?? sessions[index].head + 1
      reads.append(.entriesBefore(session: id, before: before, limit: limit, purpose))
    }
  }

  /// The answer to `ReadRequest.entries` and `.entriesBefore`; nil when the store did not answer.
  public mutating func entriesLoaded(_ request: ReadRequest, _ page: LogPage?) {
    switch request {
    case .entries(let session, _, _, let purpose), .entriesBefore(let session, _, _, let purpose):
      switch purpose {
      case .backlog(let connection): backlogLoaded(session, connection, page?.entries)
      case .history(let connection, let ref): historyLoaded(request, connection, ref, page)
      case .catchUp: newsLoaded(session, page)
      }
    default: preconditionFailure("only requests for entries are answered with entries")
    }
  }

  private mutating func backlogLoaded(
    _ session: Identifier, _ connection: SlotID, _ entries: [Entry]?
  ) {
    guard connections.contains(connection), let index = sessionIndex[session] else { return }
    let slot = Int(connection.index)
    guard let position = subscription(slot, of: index) else { return }
    connections[slot].subscriptions[position].isPageInFlight = false
    guard let entries else {
      // The sweep of the timers asks again: see `retryBacklogs`.
      return
    }
    let isOperator = connections[slot].isOperator
    var next = connections[slot].subscriptions[position].next
    let start = next
    // The rest of a page of large messages is read again when these have left. What the page holds
    // above the head will be pushed when this loop hears of it, so that `live` tells the truth.
    let head = sessions[index].head
    for entry in entries
    where entry.seq == next && next <= head && connections[slot].outbox.count < Limits.backlogBytes
    {
      appendConversation(slot) {
        if entry.kind == .note && !isOperator {
          EventEncoder.hidden(session: session, seq: entry.seq, to: &$0)
        } else {
          EventEncoder.message(entry, session: session, to: &$0)
        }
      }
      next += 1
    }
    counters.delivered += UInt64(next - start)
    connections[slot].subscriptions[position].next = next
    // A page that brought nothing (the subscription moved, or the store is behind) waits for the
    // sweep, so that it cannot become a busy loop.
    if next > start { markNews(slot, position) }
  }

  /// Connections whose backlog stands still because the store did not answer try again.
  mutating func retryBacklogs(_ slot: Int) {
    for subscription in connections[slot].subscriptions
    where !subscription.isPageInFlight && subscription.next <= sessions[subscription.session].head {
      connections[slot].mustPumpAll = true
      markDirty(slot)
      return
    }
  }

  private mutating func historyLoaded(
    _ request: ReadRequest, _ connection: SlotID, _ ref: Reference, _ page: LogPage?
  ) {
    guard connections.contains(connection) else { return }
    let slot = Int(connection.index)
    connections[slot].hasHistoryInFlight = false
    guard isOpen(slot), let member = connections[slot].member else { return }
    guard let page else {
      refuse(slot, ref, .unavailable, retryAfter: breaker.wait(salt: name(slot), now: now))
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
      let head = sessionIndex[id].map { sessions[$0].head } ?? 0
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
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot], body: encode)
    } else {
      appendConversation(slot, encode)
    }
    markDirty(slot)
  }

  private mutating func newsLoaded(_ session: Identifier, _ page: LogPage?) {
    guard let index = sessionIndex[session] else { return }
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
  mutating func touch(_ index: Int) {
    if !sessions[index].isDirty {
      sessions[index].isDirty = true
      dirtySessions.append(index)
    }
    touchInbox(index)
  }

  /// Mails what is new to the loops that follow: one mail for each session, loop and iteration.
  mutating func postLog(_ index: Int) {
    let head = sessions[index].head
    guard sessions[index].isOwned, sessions[index].postedSeq < head else { return }
    let from = max(sessions[index].postedSeq + 1, sessions[index].log.first)
    sessions[index].postedSeq = head
    guard sessions[index].followers != 0 else { return }
    let part = sessions[index].log.part(from: from)
    let id = sessions[index].id
    forEachLoop(sessions[index].followers) { engine, loop in
      engine.post(.log(session: id, part), to: loop)
    }
  }
}
