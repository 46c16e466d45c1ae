public import Chat
public import Primitives
import Wire

/// The path of a message: command → batch → commit → ack and fan-out.
extension Engine {
  mutating func send(_ slot: Int, _ command: Command, _ text: RawSpan) {
    let isOperator = connections[slot].isOperator
    guard let session = command.session, let id = command.id, let body = command.body else {
      refuse(
        slot, command.ref, .badFrame, sentence: "The command needs session, id and body.",
        field: command.session == nil ? "session" : command.id == nil ? "id" : "body")
      return
    }
    guard let index = sessionIndex[session], let subscription = subscription(slot, of: index) else {
      refuse(slot, command.ref, .notSubscribed)
      return
    }
    let kind = command.kind ?? .text
    guard kind == .text || isOperator && kind != .event else {
      refuse(slot, command.ref, kind == .event ? .rejected : .forbidden)
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
      refuse(
        slot, command.ref, .rejected, sentence: "The text holds a character that cannot be stored.")
      return
    }
    guard content.count <= Limits.bodyBytes, payload.count <= Limits.payloadBytes else {
      refuse(slot, command.ref, .tooLarge)
      return
    }
    guard !content.isEmpty || !payload.isEmpty else {
      refuse(slot, command.ref, .rejected, sentence: "A message needs a body or a payload.")
      return
    }
    let ordinal = ordinal(slot, subscription, id)
    if let wait = waitBeforeSend(slot, subscription, id) {
      suspend(slot, session, behind: id, ordinal: ordinal)
      refuse(slot, command.ref, wait.refusal, retryAfter: wait.milliseconds)
      return
    }
    accept(slot, command.ref, ordinal, session, id, kind, content, payload)
  }

  private mutating func accept(
    _ slot: Int, _ ref: Reference, _ ordinal: UInt32, _ session: Identifier, _ id: Identifier,
    _ kind: Kind, _ content: borrowing [UInt8], _ payload: borrowing [UInt8]
  ) {
    guard let workspace = connections[slot].member?.workspace,
      let role = connections[slot].member?.person.role,
      let sender = connections[slot].member?.person.id
    else { return }
    let slotID = connections.id(at: slot)
    let record = Record(
      workspace: workspace, session: session, id: id, role: role, kind: kind, sender: sender,
      origin: Origin(
        loop: UInt16(loop), slot: slotID.index, generation: slotID.generation, isRequest: false,
        ref: ref, ordinal: ordinal))
    connections[slot].inFlight += 1
    counters.sendsAccepted += 1
    guard owner(of: session) == loop else {
      append(
        AppendMail(
          record: record, senderName: connections[slot].member?.person.name ?? [],
          body: copy content, payload: copy payload))
      return
    }
    guard isAdmitted(record) else { return }
    connections[slot].member?.person.name.withRawSpan { name in
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
    let owner = owner(of: item.record.session)
    guard owner == loop else {
      post(.append(item), to: owner)
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
    counters.countBatch(box.batch.count)
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
        counters.committed += 1
        show(batch, index, record, outcome)
      case .duplicate:
        counters.duplicates += 1
        // Above the head it is news: an earlier attempt had committed, and its answer was lost.
        if let session = sessionIndex[record.session], outcome.seq > sessions[session].head {
          show(batch, index, record, outcome)
        }
      case .unavailable:
        postponed.insert(record.session)
        // It may have been committed all the same: the session is read again when the store
        // answers.
        if let session = sessionIndex[record.session] { sessions[session].isStale = true }
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
    if hasPeers { noteChange(record.session, record.workspace) }
    guard let index = sessionIndex[record.session] else {
      tellInbox(ofCold: record.session, of: record.workspace)
      if record.role == .operator_ { tell(record.workspace, record.session, .taken) }
      return
    }
    guard sessions[index].phase == .ready, outcome.seq == sessions[index].head + 1 else {
      // A reply has claimed the conversation: the line before it says so, and is read with it.
      if record.role == .operator_ { tell(record.workspace, record.session, .taken) }
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
      post(.outcome(reply), to: Int(record.origin.loop))
    }
  }

  mutating func deliver(_ reply: OutcomeMail) {
    if reply.origin.isRequest {
      requestOutcomes.append(reply)
      return
    }
    let id = SlotID(index: reply.origin.slot, generation: reply.origin.generation)
    guard connections.contains(id) else { return }
    let slot = Int(id.index)
    connections[slot].inFlight -= 1
    guard isOpen(slot) else { return }
    let ref = reply.origin.ref
    switch reply.outcome.verdict {
    case .stored, .duplicate:
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
        EventEncoder.ack(
          ref: ref, session: reply.session, id: reply.id, seq: reply.outcome.seq,
          at: reply.outcome.at, isDuplicate: reply.outcome.verdict == .duplicate, to: &$0)
      }
      markDirty(slot)
    case .conflict: refuse(slot, ref, .idConflict)
    case .noSuchSession: refuse(slot, ref, .noSuchSession)
    case .closed: refuse(slot, ref, .sessionClosed)
    case .rejected: refuse(slot, ref, .rejected)
    case .unavailable:
      suspend(slot, reply.session, behind: reply.id, ordinal: reply.origin.ordinal)
      refuse(slot, ref, .unavailable, retryAfter: reply.retryAfterMilliseconds)
    }
  }
}
