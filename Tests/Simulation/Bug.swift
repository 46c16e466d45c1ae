/// Faults planted on purpose: each breaks one promise at one seam, and a run with it must end in a
/// violation, or the checkers are blind.
enum Bug: String, CaseIterable {
  /// The engine hears “stored” before PostgreSQL has committed.
  case ackBeforeCommit
  /// PostgreSQL stores an id again that it knows already.
  case skipDedupe
  /// A mail between two loops is lost.
  case dropMail
  /// Two mails between loops change places.
  case swapMail
  /// Two records of one session change places in a batch.
  case swapRecords
  /// A backlog is read from one entry too late.
  case skipOnResume
  /// A record is taken out of its batch and nobody is told.
  case loseRecord
  /// The answers of two senders are exchanged.
  case swapAnswers
  /// Numbers are given outside the transaction, so that a refusal leaves a hole.
  case holeOnRefusal
  /// A read shows what is not committed yet.
  case dirtyRead
  /// A visitor's token opens the session of another workspace.
  case foreignSession
  /// A write to a socket that took half of the bytes is said to have taken all.
  case cutOutput
  /// The bytes of a socket are written twice.
  case doubleOutput
  /// The owner of a session forgets that another loop follows it, and may let it leave memory.
  case forgetFollower
  /// PostgreSQL is said to have stored a mark that it has not.
  case loseMark
  /// The gateway does not read again after a fail-over.
  case blindFailover
}
