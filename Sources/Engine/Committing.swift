public import Chat
import Primitives
import Wire

/// Messages on their way to the store, and what is shown once it has committed them.
extension Engine {
  /// Puts a record into the batch of the loop that owns its session. Also for REST requests and
  /// bots.
  public mutating func append(_ item: AppendMail) {
    guard effects.owner(of: item.record.session) == loop else {
      effects.post(.append(item), toOwnerOf: item.record.session)
      return
    }
    sending.append(item, sessions, &connections, &effects, now: now)
  }

  /// Lends the oldest batch to the journal, which takes its records.
  public mutating func submitBatch(_ submit: (inout Batch) -> Void) {
    if let count = sending.submitBatch(submit) { counts.countBatch(count) }
  }

  /// The journal's verdict on a batch, after COMMIT was received. Only now is anything acknowledged
  /// or shown.
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
      sending.answer(record, outcome, sessions, &connections, &effects, now: now)
    }
    sending.finishBatch(postponed: postponed, sessions, &connections, &effects, now: now)
  }

  /// Encodes a committed entry once, at the end of its session's log.
  private mutating func show(
    _ batch: borrowing Batch, _ position: Int, _ record: Record, _ outcome: Outcome
  ) {
    if record.role == .visitor, outcome.seq == 1 || !listeners.isEmpty {
      reportVisitorMessage(record, seq: outcome.seq)
    }
    if hasPeers { effects.noteChange(record.session, record.workspace) }
    guard let index = sessions.index(of: record.session) else {
      touchInbox(ofUnloaded: record.session, of: record.workspace)
      if record.role == .operator_ { effects.report(record.workspace, record.session, .taken) }
      return
    }
    guard sessions[index].phase == .ready, outcome.seq == sessions[index].head + 1 else {
      // A reply has claimed the conversation: the entry before it says so, and is read with it.
      if record.role == .operator_ { effects.report(record.workspace, record.session, .taken) }
      if sessions[index].phase == .loading {
        sessions[index].isStale = true
      } else if outcome.seq > sessions[index].head {
        sessions.reread(index, &effects)
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

  /// News of a visitor's message: of a conversation's first one, and where bots listen, so it stays
  /// out of the path of the others. Of a session that is not in memory (nobody follows it: it was
  /// written over REST) nothing is known, so the receivers ask the database.
  @inline(never)
  private mutating func reportVisitorMessage(_ record: Record, seq: Int64) {
    if let index = sessions.ready(record.session), sessions[index].snapshot.status != .waiting {
      return
    }
    if seq == 1 { effects.report(record.workspace, record.session, .waits) }
    if !listeners.isEmpty, listeners.contains(record.workspace) {
      effects.report(record.workspace, record.session, .wrote(seq: seq))
    }
  }

  /// The session has something new for its subscribers, followers and the operators' lists.
  mutating func touch(_ index: SessionIndex) {
    sessions.markDirty(index)
    inbox.touch(index, &sessions, now: now)
  }

  /// Nobody follows the session, but operators' lists show it: its workspace is known from the
  /// sender of the message, or once it has loaded.
  mutating func touchInbox(ofUnloaded session: Identifier, of workspace: Identifier?) {
    guard inbox.hasWatchers else { return }
    if let workspace { return inbox.touch(session, workspace, now: now) }
    guard let index = load(session, of: nil) else { return }
    sessions[index].isInboxPending = true
  }
}
