import Chat
import JSON
import Primitives
import Wire

/// The path of a message from the command `send` to the store, and of the outcome back to its
/// sender: validated, added to the open batch, committed by the journal, acknowledged or refused.
struct SendPipeline {
  private var queue = BatchQueue()
  private var breaker = Breaker()
  /// A buffer for decoding bodies, kept for the next one.
  private var bodyStorage: [UInt8] = []
  /// Failed sends of other loops' connections.
  private var remoteHeld: [RemoteSender: HeldSend] = [:]
  /// Whether the store answers. While it does not, sends wait at first and are then refused.
  var isStoreReachable = true
  var quotas: VisitorQuotas

  init(quotas: SharedQuotas) { self.quotas = VisitorQuotas(quotas) }

  // MARK: The command

  /// Returns whether the message was accepted for the store.
  mutating func send(
    _ connection: ConnectionIndex, _ command: Command, _ text: RawSpan,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects, now: Instant
  ) -> Bool {
    let isOperator = connections[connection].isOperator
    guard let session = command.session, let id = command.id, let body = command.body else {
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "The command needs session, id and body.",
        field: command.session == nil ? "session" : command.id == nil ? "id" : "body")
      return false
    }
    guard let index = sessions.index(of: session),
      let subscription = connections.subscription(connection, of: index, sessions)
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return false
    }
    let kind = command.kind ?? .text
    guard kind == .text || isOperator && !kind.isOfGateway else {
      connections.refuse(connection, command.ref, kind.isOfGateway ? .rejected : .forbidden)
      return false
    }
    // The database decides whether the session is closed, since it knows the id: a message stored
    // before the close and sent again is a duplicate, not refused.
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
      return false
    }
    guard content.count <= Limits.bodyBytes, payload.count <= Limits.payloadBytes else {
      connections.refuse(connection, command.ref, .tooLarge)
      return false
    }
    guard !content.isEmpty || !payload.isEmpty else {
      connections.refuse(
        connection, command.ref, .rejected, sentence: "A message needs a body or a payload.")
      return false
    }
    let ordinal = connections[connection].ordinal(subscription, id)
    if let wait = waitBeforeSend(
      &connections[connection], subscription, id, byteCount: content.count + payload.count,
      now: now)
    {
      suspend(
        connection, session, behind: id, ordinal: ordinal, for: wait, sessions, &connections)
      connections.refuse(
        connection, command.ref, wait.refusal, sentence: wait.sentence,
        retryAfter: wait.milliseconds)
      return false
    }
    return accept(
      connection, command.ref, ordinal, session, id, kind, content, payload, sessions,
      &connections, &effects, now: now)
  }

  /// Why a send must be repeated later, or nil when it is accepted. All these reasons are
  /// temporary, so later sends in the same session are refused too until this one arrives again.
  private mutating func waitBeforeSend(
    _ connection: inout Connection, _ subscription: SubscriptionIndex, _ id: Identifier,
    byteCount: Int, now: Instant
  ) -> Wait? {
    if let held = connection.subscriptions[subscription].heldSend {
      if held.id != id && now < held.until { return held.wait }
      connection.subscriptions[subscription].heldSend = nil
    }
    if connection.sends.inFlight >= Limits.inFlight {
      return Wait(
        .rateLimited, 100,
        "More than limits.in_flight sends wait for their ack. Send again after retry_after_ms.")
    }
    let wait = connection.rates.sends.take(
      perSecond: Limits.sendsPerSecond, burst: Limits.sendsBurst, now: now)
    if wait > 0 {
      connection.rates.excess += 1
      return Wait(.rateLimited, wait)
    }
    connection.rates.excess = max(0, connection.rates.excess - 1)
    if failsFast { return Wait(.unavailable, breaker.wait(salt: connection.salt, now: now)) }
    guard quotas.table.isLimited, connection.isVisitor else { return nil }
    let milliseconds = now.nanoseconds / 1_000_000
    if !quotas.table.isValid(connection.rates.quota), !quotas.find(&connection, milliseconds) {
      return Wait(.rateLimited, 1_000)
    }
    return quotas.table.take(
      connection.rates.quota, byteCount: byteCount, nowMilliseconds: milliseconds
    ).map { Wait(.rateLimited, $0.waitMilliseconds, $0.sentence) }
  }

  private mutating func accept(
    _ connection: ConnectionIndex, _ ref: Reference, _ ordinal: UInt32, _ session: Identifier,
    _ id: Identifier, _ kind: EntryKind, _ content: borrowing [UInt8], _ payload: borrowing [UInt8],
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects, now: Instant
  ) -> Bool {
    guard let workspace = connections[connection].member?.workspace,
      let role = connections[connection].member?.person.role,
      let sender = connections[connection].member?.person.id
    else { return false }
    let record = Record(
      workspace: workspace, session: session, id: id, role: role, kind: kind, sender: sender,
      origin: Origin(
        loop: effects.loop, connection: connections.id(at: connection), ref: ref,
        ordinal: ordinal))
    connections[connection].sends.inFlight += 1
    guard effects.owner(of: session) == effects.loop else {
      effects.post(
        .append(
          AppendMail(
            record: record, senderName: connections[connection].member?.person.name ?? [],
            body: copy content, payload: copy payload)),
        toOwnerOf: session)
      return true
    }
    guard isAdmitted(record, sessions, &connections, &effects, now: now) else { return true }
    connections[connection].member?.person.name.withRawSpan { name in
      content.withRawSpan { body in
        payload.withRawSpan { payload in
          queue.append(record, senderName: name, body: body, payload: payload, now: now)
        }
      }
    }
    return true
  }

  /// Adds a record to the batch of this loop, which owns its session.
  mutating func append(
    _ item: AppendMail, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    guard isAdmitted(item.record, sessions, &connections, &effects, now: now) else { return }
    item.senderName.withRawSpan { name in
      item.body.withRawSpan { body in
        item.payload.withRawSpan { payload in
          queue.append(item.record, senderName: name, body: body, payload: payload, now: now)
        }
      }
    }
  }

  /// Whether a record may wait for the store. If not, this refuses it to its sender.
  private mutating func isAdmitted(
    _ record: Record, _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects, now: Instant
  ) -> Bool {
    if !isHeld(record, loop: effects.loop, now: now), !queue.isFull, !failsFast {
      return true
    }
    answer(
      record, Outcome(verdict: .unavailable), sessions, &connections, &effects, now: now)
    return false
  }

  /// The store is unreachable and sends have failed already, so later ones are refused at once.
  private var failsFast: Bool { breaker.isOpen && !isStoreReachable }

  /// The delay before a client should retry, in milliseconds; `salt` spreads the clients.
  func retryAfter(salt: UInt64, now: Instant) -> Int64 { breaker.wait(salt: salt, now: now) }

  // MARK: The batch

  var hasBatch: Bool { !queue.isEmpty }
  var queuedRecords: Int { queue.recordCount }
  /// When the oldest record that waits for the journal was added.
  var oldestQueued: Instant? { queue.oldest }

  /// Lends the oldest batch to the journal, which takes its records, with what is known now about
  /// their sessions. Returns their number, or nil when no record waits.
  /// - Parameter waits: gets how long each record has waited.
  mutating func submitBatch(
    _ waits: inout DurationHistogram, _ sessions: borrowing SessionTable, now: Instant,
    _ submit: (inout Batch) -> Void
  ) -> Int? {
    guard let box = queue.take() else { return nil }
    let count = box.batch.count
    box.batch.addWaits(until: now, to: &waits)
    for index in 0..<count {
      let record = box.batch.record(index)
      box.batch.setHead(
        index, sessions.knownHead(of: record.session),
        isUnclaimed: record.role == .operator_ && sessions.isUnclaimed(record.session))
    }
    submit(&box.batch)
    queue.recycle(box)
    return count
  }

  /// Call it when a batch has its outcomes.
  /// - Parameter postponed: the sessions with an `unavailable` message, behind which waiting
  ///   records fail too.
  mutating func finishBatch(
    postponed: Set<Identifier>, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    if postponed.isEmpty {
      breaker.close()
    } else if isStoreReachable {
      failQueue(of: postponed, sessions, &connections, &effects, now: now)
    } else {
      failQueue(sessions, &connections, &effects, now: now)
    }
  }

  /// Fails all waiting records when the oldest has waited for `Limits.sendWaitMilliseconds`.
  mutating func expire(
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects, now: Instant
  ) {
    guard let oldest = queue.oldest,
      now.milliseconds(since: oldest) >= Limits.sendWaitMilliseconds
    else { return }
    failQueue(sessions, &connections, &effects, now: now)
  }

  /// Fails all waiting records. Their senders keep them and repeat them under the same ids.
  private mutating func failQueue(
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects, now: Instant
  ) {
    breaker.open(now: now)
    while let box = queue.take() {
      for index in 0..<box.batch.count {
        answer(
          box.batch.record(index), Outcome(verdict: .unavailable), sessions, &connections,
          &effects, now: now)
      }
      queue.recycle(box)
    }
  }

  /// Fails the waiting records of sessions whose rows another process has locked. All others keep
  /// their order and age.
  private mutating func failQueue(
    of postponed: Set<Identifier>, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    var boxes: [BatchQueue.Box] = []
    while let box = queue.take() { boxes.append(box) }
    for box in boxes {
      for index in 0..<box.batch.count {
        let record = box.batch.record(index)
        guard !postponed.contains(record.session) else {
          answer(
            record, Outcome(verdict: .unavailable), sessions, &connections, &effects, now: now)
          continue
        }
        box.batch.withSenderName(index) { name in
          box.batch.withBody(index) { body in
            box.batch.withPayload(index) { payload in
              queue.append(
                record, senderName: name, body: body, payload: payload,
                now: box.batch.came(index))
            }
          }
        }
      }
      queue.recycle(box)
    }
  }

  // MARK: The outcome

  /// Sends an outcome to the loop of the record's origin.
  mutating func answer(
    _ record: Record, _ outcome: Outcome, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    var retryAfter: Int64 = 0
    if outcome.verdict == .unavailable {
      retryAfter = breaker.wait(salt: record.id.low, now: now)
      hold(record, for: Wait(.unavailable, retryAfter), loop: effects.loop, now: now)
    }
    let reply = OutcomeMail(
      origin: record.origin, session: record.session, id: record.id, outcome: outcome,
      retryAfterMilliseconds: retryAfter)
    if Int(record.origin.loop) == effects.loop {
      deliver(reply, sessions, &connections, &effects)
    } else {
      effects.post(.outcome(reply), to: Int(record.origin.loop))
    }
  }

  /// Delivers an outcome to a connection or a REST request of this loop.
  func deliver(
    _ reply: OutcomeMail, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    if reply.origin.isRequest {
      effects.finishRequest(reply)
      return
    }
    let id = reply.origin.connection
    guard connections.contains(id) else { return }
    let connection = id.index
    connections[connection].sends.inFlight -= 1
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
      suspend(
        connection, reply.session, behind: reply.id, ordinal: reply.origin.ordinal,
        for: Wait(.unavailable, reply.retryAfterMilliseconds), sessions, &connections)
      connections.refuse(
        connection, ref, .unavailable, retryAfter: reply.retryAfterMilliseconds)
    }
  }

  // MARK: Senders of other loops

  /// Whether a failed send of the same remote sender is still held. Until its own loop has the
  /// refusal, that loop still posts later sends.
  private mutating func isHeld(_ record: Record, loop: Int, now: Instant) -> Bool {
    guard !record.origin.isRequest, Int(record.origin.loop) != loop, !remoteHeld.isEmpty else {
      return false
    }
    let sender = RemoteSender(record)
    guard let held = remoteHeld[sender] else { return false }
    if held.id != record.id && now < held.until { return true }
    remoteHeld[sender] = nil
    return false
  }

  private mutating func hold(_ record: Record, for wait: Wait, loop: Int, now: Instant) {
    guard !record.origin.isRequest, Int(record.origin.loop) != loop else { return }
    if remoteHeld.count >= Limits.heldSenders {
      remoteHeld = remoteHeld.filter { now < $0.value.until }
      // Many senders fail at once in an outage. Their own loops hold them a moment later.
      if remoteHeld.count >= Limits.heldSenders { return }
    }
    HeldSend.merge(
      &remoteHeld[RemoteSender(record)],
      HeldSend(
        id: record.id, ordinal: record.origin.ordinal, wait: wait, until: HeldSend.until(now)))
  }
}

extension Origin {
  init(loop: Int, connection: ConnectionID, ref: Reference, ordinal: UInt32) {
    self.init(
      loop: UInt16(loop), index: connection.index.raw,
      generation: connection.generation, isRequest: false, ref: ref, ordinal: ordinal)
  }

  /// Valid unless `isRequest`.
  var connection: ConnectionID { ConnectionID(index: index, generation: generation) }
}

/// The records that wait for the store. Records that arrive while a batch is in flight form the
/// next one (natural batching: the slower the disk, the larger the batch, without a timer).
///
/// Bounded by `Limits.queuedRecords`; each batch by `Limits.batchRecords` and `Limits.batchBytes`.
struct BatchQueue {
  /// A batch and the time at which its first record was added.
  final class Box {
    var batch = Batch()
    var openedAt = Instant.zero
  }

  private var waiting = Fifo<Box>()
  private var open: Box?
  private var spare: [Box] = []
  private(set) var recordCount = 0

  var isEmpty: Bool { recordCount == 0 }
  var isFull: Bool { recordCount >= Limits.queuedRecords }

  mutating func append(
    _ record: Record, senderName: RawSpan, body: RawSpan, payload: RawSpan, now: Instant
  ) {
    precondition(!isFull, "the engine refuses a record before the queue overflows")
    let bytes = senderName.byteCount + body.byteCount + payload.byteCount
    if let box = open,
      box.batch.count == Limits.batchRecords || box.batch.byteCount + bytes > Limits.batchBytes
    {
      waiting.append(box)
      open = nil
    }
    let box = open ?? spare.popLast() ?? Box()
    if box.batch.isEmpty { box.openedAt = now }
    box.batch.append(
      record, senderName: senderName, body: body, payload: payload, cameAt: now)
    open = box
    recordCount += 1
  }

  /// The oldest batch, for the journal; give it back with `recycle`.
  mutating func take() -> Box? {
    guard let box = waiting.popFirst() ?? open else { return nil }
    if box === open { open = nil }
    recordCount -= box.batch.count
    return box
  }

  mutating func recycle(_ box: Box) {
    box.batch.removeAll()
    if spare.count < 4 { spare.append(box) }
  }

  /// When the oldest record was added; nil when none waits.
  var oldest: Instant? {
    guard !isEmpty else { return nil }
    return waiting.first?.openedAt ?? open?.openedAt
  }
}

/// A circuit breaker for the store: opened when waiting records have failed, closed by the next
/// commit. While it is open and the store is unreachable, sends are refused at once.
///
/// The retry delay equals the time since it opened, within `waitMilliseconds`. So the delays of a
/// client double without a counter of its attempts.
struct Breaker {
  /// Bounds of the delay, which is spread over its second half.
  static let waitMilliseconds: ClosedRange<Int64> = 1_000...8_000

  private var openedAt: Instant?

  var isOpen: Bool { openedAt != nil }

  mutating func open(now: Instant) {
    if openedAt == nil { openedAt = now }
  }

  mutating func close() { openedAt = nil }

  /// The retry delay in milliseconds; `salt` spreads the clients, so that they do not return at
  /// once.
  func wait(salt: UInt64, now: Instant) -> Int64 {
    let bounds = Self.waitMilliseconds
    let passed = openedAt.map { now.milliseconds(since: $0) } ?? 0
    let wait = min(bounds.upperBound, max(bounds.lowerBound, passed))
    return wait / 2 + Int64(salt % UInt64(wait / 2))
  }
}
