/// Deliberate bugs. Each breaks one promise in one place; a run with it must end in a violation, or
/// the checker misses that kind of bug.
enum Bug: String, CaseIterable {
  /// The engine gets the outcome `stored` before PostgreSQL has committed.
  case ackBeforeCommit
  /// PostgreSQL stores a known id again.
  case skipDedupe
  /// A mail between two loops is lost.
  case dropMail
  /// Two mails between loops are swapped.
  case swapMail
  /// Two records of a batch are swapped.
  case swapRecords
  /// A backlog is read from one entry too late.
  case skipOnResume
  /// A record is dropped from its batch and reported as stored.
  case loseRecord
  /// The outcomes of two senders are swapped.
  case swapAnswers
  /// Seqs are assigned outside the transaction, so that a refusal leaves a gap.
  case holeOnRefusal
  /// A read returns an uncommitted entry.
  case dirtyRead
  /// A visitor's token admits a session of another workspace.
  case foreignSession
  /// A partial write to a socket is reported as complete.
  case cutOutput
  /// Bytes are written to a socket twice.
  case doubleOutput
  /// The owner of a session forgets a following loop and may evict the session.
  case forgetFollower
  /// A mark is reported as stored but is not.
  case loseMark
  /// The gateway does not reset its state after a fail-over.
  case blindFailover
  /// A fenced transaction stores its numbers without comparing the head.
  case uncheckedFence
  /// A fenced transaction accepts an older head, and reports the numbers that it was given.
  case staleFence
  /// A fenced transaction does not compare the status, so a closed session gets a message.
  case closedFence
  /// A fenced transaction reports the rows of a session that it left as stored.
  case halfFence
  /// A fenced transaction stores the first row of a session only, and counts all.
  case splitFence
}
