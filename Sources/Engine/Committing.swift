public import Chat
import Primitives
import Wire

/// Messages before and after their commit.
extension Engine {
  /// Adds a record to the batch of the loop that owns its session. REST requests and bots use this
  /// too.
  public mutating func append(_ item: AppendMail) {
    guard effects.owner(of: item.record.session) == loop else {
      effects.post(.append(item), toOwnerOf: item.record.session)
      return
    }
    sending.append(item, sessions, &connections, &effects, now: now)
  }

  /// Lends the oldest batch to the journal, which takes its records.
  public mutating func submitBatch(_ submit: (inout Batch) -> Void) {
    if let count = sending.submitBatch(&counts.queueTimes, sessions, now: now, submit) {
      counts.countBatch(count)
    }
  }

  /// The outcomes of a batch, after the response to its COMMIT. Nothing is acknowledged or sent to
  /// subscribers before.
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
        // Above the head it is new: an earlier attempt has committed, but its outcome was lost.
        if let session = sessions.index(of: record.session), outcome.seq > sessions[session].head {
          show(batch, index, record, outcome)
        }
      case .unavailable:
        postponed.insert(record.session)
        // It may have been committed nevertheless, so the session is read once the store answers.
        if let session = sessions.index(of: record.session) { sessions[session].isStale = true }
      case .conflict, .noSuchSession, .closed, .rejected: break
      }
      sending.answer(record, outcome, sessions, &connections, &effects, now: now)
    }
    sending.finishBatch(postponed: postponed, sessions, &connections, &effects, now: now)
  }

  /// Appends a committed entry to its session's log, encoded once.
  private mutating func show(
    _ batch: borrowing Batch, _ recordIndex: Int, _ record: Record, _ outcome: Outcome
  ) {
    if record.role == .visitor, outcome.seq == 1 || !effects.listeners.isEmpty {
      effects.reportVisitorMessage(record, seq: outcome.seq, sessions)
    }
    if effects.hasPeers { effects.noteChange(record.session, record.workspace) }
    guard let index = sessions.index(of: record.session) else {
      touchInbox(ofUnloaded: record.session, of: record.workspace)
      if record.role == .operator_ { effects.report(record.workspace, record.session, .taken) }
      return
    }
    guard sessions[index].phase == .ready, outcome.seq == sessions[index].head + 1 else {
      // An operator's reply has also claimed the conversation. The entry about the claim has the
      // seq before it, and is read with it.
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
      batch.withSenderName(recordIndex) { name in
        batch.withBody(recordIndex) { body in
          batch.withPayload(recordIndex) { payload in
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

  /// Records that a session has something new for its subscribers, following loops and the inbox.
  mutating func touch(_ index: SessionIndex) {
    sessions.markDirty(index)
    inbox.touch(index, &sessions, now: now)
  }

  /// Records a change of a session that is not in memory, for the inbox. Without a known workspace,
  /// the session is loaded.
  mutating func touchInbox(ofUnloaded session: Identifier, of workspace: Identifier?) {
    guard inbox.hasWatchers else { return }
    if let workspace { return inbox.touch(session, workspace, now: now) }
    guard let index = sessions.load(session, of: nil, &presence, &effects, now: now) else { return }
    sessions[index].isInboxPending = true
  }
}
