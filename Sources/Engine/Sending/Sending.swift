public import Chat
public import Primitives
import Wire

/// The path of a message: command → batch → commit → ack and fan-out.
extension Engine {
  mutating func send(_ connection: ConnectionIndex, _ command: Command, _ text: RawSpan) {
    let isOperator = connections[connection].isOperator
    guard let session = command.session, let id = command.id, let body = command.body else {
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "The command needs session, id and body.",
        field: command.session == nil ? "session" : command.id == nil ? "id" : "body")
      return
    }
    guard let index = sessions.index(of: session),
      let subscription = subscription(connection, of: index)
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    let kind = command.kind ?? .text
    guard kind == .text || isOperator && kind != .event else {
      connections.refuse(connection, command.ref, kind == .event ? .rejected : .forbidden)
      return
    }
    // Whether the session is closed is judged by the database, with the id: a message that was
    // stored before the close and comes again is a duplicate, not refused.
    var content: [UInt8] = []
    swap(&content, &bodyStorage)
    content.removeAll(keepingCapacity: true)
    defer { bodyStorage = content }
    var payload: [UInt8] = []
    do throws(JSONText.Fault) {
      try JSONText.decode(body, in: text, to: &content)
      if let token = command.payload {
        try JSONText.appendCompact(text.extracting(token.range), to: &payload)
      }
    } catch {
      connections.refuse(
        connection, command.ref, .rejected,
        sentence: "The text holds a character that cannot be stored.")
      return
    }
    guard content.count <= Limits.bodyBytes, payload.count <= Limits.payloadBytes else {
      connections.refuse(connection, command.ref, .tooLarge)
      return
    }
    guard !content.isEmpty || !payload.isEmpty else {
      connections.refuse(
        connection, command.ref, .rejected, sentence: "A message needs a body or a payload.")
      return
    }
    let ordinal = ordinal(connection, subscription, id)
    if let wait = waitBeforeSend(connection, subscription, id) {
      suspend(connection, session, behind: id, ordinal: ordinal)
      connections.refuse(connection, command.ref, wait.refusal, retryAfter: wait.milliseconds)
      return
    }
    accept(connection, command.ref, ordinal, session, id, kind, content, payload)
  }

  private mutating func accept(
    _ connection: ConnectionIndex, _ ref: Reference, _ ordinal: UInt32, _ session: Identifier,
    _ id: Identifier,
    _ kind: Kind, _ content: borrowing [UInt8], _ payload: borrowing [UInt8]
  ) {
    guard let workspace = connections[connection].member?.workspace,
      let role = connections[connection].member?.person.role,
      let sender = connections[connection].member?.person.id
    else { return }
    let handle = connections.id(at: connection)
    let record = Record(
      workspace: workspace, session: session, id: id, role: role, kind: kind, sender: sender,
      origin: Origin(
        loop: UInt16(loop), slot: UInt32(handle.index.value), generation: handle.generation,
        isRequest: false,
        ref: ref, ordinal: ordinal))
    connections[connection].inFlight += 1
    counts.sendsAccepted += 1
    guard effects.owner(of: session) == loop else {
      append(
        AppendMail(
          record: record, senderName: connections[connection].member?.person.name ?? [],
          body: copy content, payload: copy payload))
      return
    }
    guard isAdmitted(record) else { return }
    connections[connection].member?.person.name.withRawSpan { name in
      content.withRawSpan { body in
        payload.withRawSpan { payload in
          queue.append(record, senderName: name, body: body, payload: payload, now: now)
        }
      }
    }
  }

  /// Puts a record into the batch of the loop that owns its session. Also for REST requests and
  /// bots.
  public mutating func append(_ item: AppendMail) {
    let owner = effects.owner(of: item.record.session)
    guard owner == loop else {
      effects.post(.append(item), to: owner)
      return
    }
    guard isAdmitted(item.record) else { return }
    item.senderName.withRawSpan { name in
      item.body.withRawSpan { body in
        item.payload.withRawSpan { payload in
          queue.append(item.record, senderName: name, body: body, payload: payload, now: now)
        }
      }
    }
  }

  /// Whether a record may wait for the store; its sender has been told otherwise if not.
  private mutating func isAdmitted(_ record: Record) -> Bool {
    if !isHeld(record), !queue.isFull, !isStoreGivenUp { return true }
    answer(record, Outcome(verdict: .unavailable))
    return false
  }

  /// The store is down and sends were given up already: later ones are told at once.
  var isStoreGivenUp: Bool { breaker.isOpen && !isStoreReachable }

  // MARK: The batch

  public var hasBatch: Bool { !queue.isEmpty }
  public var queuedRecords: Int { queue.recordCount }
  /// When the oldest record came that waits for the journal.
  public var oldestQueued: Instant? { queue.oldest }

  /// Lends the oldest batch to the journal, which takes its records.
  public mutating func submitBatch(_ submit: (inout Batch) -> Void) {
    guard let box = queue.take() else { return }
    counts.countBatch(box.batch.count)
    submit(&box.batch)
    queue.recycle(box)
  }

  /// The journal's verdict on a batch, after COMMIT was received. Only now is anything acked or
  /// shown.
  public mutating func committed(_ batch: borrowing Batch, _ outcomes: [Outcome]) {
    var postponed: Set<Identifier> = []
    for index in 0..<batch.count {
      let record = batch.record(index)
      let outcome = outcomes[index]
      switch outcome.verdict {
      case .stored:
        counts.committed += 1
        show(batch, index, record, outcome)
      case .duplicate:
        counts.duplicates += 1
        // Above the head it is news: an earlier attempt had committed, and its answer was lost.
        if let session = sessions.index(of: record.session), outcome.seq > sessions[session].head {
          show(batch, index, record, outcome)
        }
      case .unavailable:
        postponed.insert(record.session)
        // It may have been committed all the same: the session is read again when the store
        // answers.
        if let session = sessions.index(of: record.session) { sessions[session].isStale = true }
      case .conflict, .noSuchSession, .closed, .rejected: break
      }
      answer(record, outcome)
    }
    if postponed.isEmpty {
      breaker.close()
    } else if isStoreReachable {
      failQueue(of: postponed)
    } else {
      failQueue()
    }
  }

  /// Encodes a committed entry once, at the end of its session's log.
  private mutating func show(
    _ batch: borrowing Batch, _ position: Int, _ record: Record, _ outcome: Outcome
  ) {
    if record.role == .visitor, outcome.seq == 1 || !listeners.isEmpty {
      noteVisitorMessage(record, seq: outcome.seq)
    }
    if hasPeers { effects.noteChange(record.session, record.workspace) }
    guard let index = sessions.index(of: record.session) else {
      tellInbox(ofCold: record.session, of: record.workspace)
      if record.role == .operator_ { effects.report(record.workspace, record.session, .taken) }
      return
    }
    guard sessions[index].phase == .ready, outcome.seq == sessions[index].head + 1 else {
      // A reply has claimed the conversation: the line before it says so, and is read with it.
      if record.role == .operator_ { effects.report(record.workspace, record.session, .taken) }
      if sessions[index].phase == .loading {
        sessions[index].isStale = true
      } else if outcome.seq > sessions[index].head {
        reread(index)
      }
      return
    }
    let session = record.session
    sessions[index].log.append(isNote: record.kind == .note) { json in
      batch.withSenderName(position) { name in
        batch.withBody(position) { body in
          batch.withPayload(position) { payload in
            EventEncoder.message(
              session: session, seq: outcome.seq, id: record.id, role: record.role,
              kind: record.kind, sender: record.sender, senderName: name, body: body,
              payload: payload, at: outcome.at, to: &json)
          }
        }
      }
    }
    sessions[index].snapshot.head = outcome.seq
    touch(index)
  }

  /// Gives up everything that waits: whoever sent it keeps it and sends it again under the same id.
  mutating func failQueue() {
    breaker.open(now: now)
    while let box = queue.take() {
      for index in 0..<box.batch.count {
        answer(box.batch.record(index), Outcome(verdict: .unavailable))
      }
      queue.recycle(box)
    }
  }

  /// The store works, but somebody else holds what these sessions need: only what waits behind
  /// their failed sends is given up, everybody else's keeps its place and its age.
  private mutating func failQueue(of sessions: Set<Identifier>) {
    var boxes: [BatchQueue.Box] = []
    while let box = queue.take() { boxes.append(box) }
    for box in boxes {
      for index in 0..<box.batch.count {
        let record = box.batch.record(index)
        guard !sessions.contains(record.session) else {
          answer(record, Outcome(verdict: .unavailable))
          continue
        }
        box.batch.withSenderName(index) { name in
          box.batch.withBody(index) { body in
            box.batch.withPayload(index) { payload in
              queue.append(
                record, senderName: name, body: body, payload: payload, now: box.openedAt)
            }
          }
        }
      }
      queue.recycle(box)
    }
  }

  // MARK: The answer

  private mutating func answer(_ record: Record, _ outcome: Outcome) {
    if outcome.verdict == .unavailable { hold(record) }
    let reply = OutcomeMail(
      origin: record.origin, session: record.session, id: record.id, outcome: outcome,
      retryAfterMilliseconds: outcome.verdict == .unavailable
        ? breaker.wait(salt: record.id.low, now: now) : 0)
    if Int(record.origin.loop) == loop {
      deliver(reply)
    } else {
      effects.post(.outcome(reply), to: Int(record.origin.loop))
    }
  }

  mutating func deliver(_ reply: OutcomeMail) {
    if reply.origin.isRequest {
      effects.finishRequest(reply)
      return
    }
    let handle = ConnectionID(
      index: reply.origin.slot, generation: reply.origin.generation)
    guard connections.contains(handle) else { return }
    let connection = handle.index
    connections[connection].inFlight -= 1
    guard connections.isOpen(connection) else { return }
    let ref = reply.origin.ref
    switch reply.outcome.verdict {
    case .stored, .duplicate:
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
        EventEncoder.ack(
          ref: ref, session: reply.session, id: reply.id, seq: reply.outcome.seq,
          at: reply.outcome.at, isDuplicate: reply.outcome.verdict == .duplicate, to: &$0)
      }
      connections.markDirty(connection)
    case .conflict: connections.refuse(connection, ref, .idConflict)
    case .noSuchSession: connections.refuse(connection, ref, .noSuchSession)
    case .closed: connections.refuse(connection, ref, .sessionClosed)
    case .rejected: connections.refuse(connection, ref, .rejected)
    case .unavailable:
      suspend(connection, reply.session, behind: reply.id, ordinal: reply.origin.ordinal)
      connections.refuse(connection, ref, .unavailable, retryAfter: reply.retryAfterMilliseconds)
    }
  }
}
