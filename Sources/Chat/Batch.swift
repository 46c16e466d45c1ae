public import Primitives

/// One entry to commit, without its texts, which are in the batch's arena.
public struct Record: Sendable {
  /// The workspace of the sender and the session, by which data are distributed over databases.
  public var workspace: Identifier
  public var session: Identifier
  public var id: Identifier
  public var role: Role
  public var kind: EntryKind
  public var sender: Identifier?
  /// The receiver of the outcome; opaque to the journal.
  public var origin: Origin

  public init(
    workspace: Identifier, session: Identifier, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?, origin: Origin
  ) {
    self.workspace = workspace
    self.session = session
    self.id = id
    self.role = role
    self.kind = kind
    self.sender = sender
    self.origin = origin
  }
}

/// The connection or REST request that waits for the outcome of a record.
public struct Origin: Sendable, Equatable {
  /// The number of the loop that has the connection.
  public var loop: UInt16
  /// The connection's index in that loop's table, or the number of a REST request.
  public var index: UInt32
  /// The generation of the index; it differs once the connection has gone.
  public var generation: UInt32
  public var isRequest: Bool
  /// The `ref` of the client's command.
  public var ref: Reference
  /// The number of the send among those of its connection; it wraps.
  public var ordinal: UInt32

  public init(
    loop: UInt16, index: UInt32, generation: UInt32, isRequest: Bool, ref: Reference,
    ordinal: UInt32 = 0
  ) {
    self.loop = loop
    self.index = index
    self.generation = generation
    self.isRequest = isRequest
    self.ref = ref
    self.ordinal = ordinal
  }
}

/// The result of committing one record.
public struct Outcome: Sendable, Equatable {
  /// Some verdicts are an error to the client, named after the case.
  public enum Verdict: UInt8, Sendable {
    /// Committed now as entry `seq`.
    case stored
    /// The same id with the same content was committed before as entry `seq`.
    case duplicate
    /// The id was committed before with different content or in another session: `id_conflict`.
    case conflict
    /// The session does not exist or was deleted: `no_such_session`.
    case noSuchSession
    /// The session is closed, and the sender may not write into closed sessions: `session_closed`.
    case closed
    /// PostgreSQL will never accept this entry: `rejected`.
    case rejected
    /// Not known to be committed; the client must repeat the same id: `unavailable`.
    case unavailable
  }
  public var verdict: Verdict
  public var seq: Int64
  /// The time that PostgreSQL stored with the entry.
  public var at: WallTime

  public init(verdict: Verdict, seq: Int64 = 0, at: WallTime = WallTime(microseconds: 0)) {
    self.verdict = verdict
    self.seq = seq
    self.at = at
  }
}

/// The records that one transaction commits, in order of arrival. The engine fills it while the
/// previous batch is in flight; the journal binds it as array parameters.
///
/// Bounded by `Limits.batchRecords` and `Limits.batchBytes`. `removeAll` keeps the storage, so a
/// reused batch does not allocate.
public struct Batch: ~Copyable {
  /// The ends of a record's texts in the arena; each begins at the end of the one before.
  private struct Extent {
    var nameEnd: Int
    var bodyEnd: Int
    var payloadEnd: Int
    /// When the record came.
    var came: Instant
    /// See `Batch.setHead`.
    var head = Batch.unknownHead
    var isUnclaimed = false
  }
  /// The head of a session that is not in memory, or may not be current.
  public static let unknownHead: Int64 = -1

  @usableFromInline var records: [Record] = []
  private var extents: [Extent] = []
  private var arena: [UInt8] = []

  public init() {}

  public var count: Int { records.count }
  public var isEmpty: Bool { records.isEmpty }
  /// Bytes of names, bodies and payloads.
  public var byteCount: Int { arena.count }

  public mutating func append(
    _ record: Record, senderName: RawSpan, body: RawSpan, payload: RawSpan, cameAt came: Instant
  ) {
    precondition(count < Limits.batchRecords, "the engine submits a full batch before it adds more")
    records.append(record)
    arena.append(senderName)
    let nameEnd = arena.count
    arena.append(body)
    let bodyEnd = arena.count
    arena.append(payload)
    extents.append(
      Extent(nameEnd: nameEnd, bodyEnd: bodyEnd, payloadEnd: arena.count, came: came))
  }

  public mutating func removeAll() {
    records.removeAll(keepingCapacity: true)
    extents.removeAll(keepingCapacity: true)
    arena.removeAll(keepingCapacity: true)
  }

  /// When a record came.
  public func came(_ index: Int) -> Instant { extents[index].came }

  /// Sets the last number of the record's session that its loop knows, just before the batch is
  /// submitted. The journal then brings the numbers of the next entries; the database refuses them
  /// if the session has another one.
  ///
  /// - Parameter isUnclaimed: no operator has the session, so that a reply claims it.
  public mutating func setHead(_ index: Int, _ head: Int64, isUnclaimed: Bool = false) {
    extents[index].head = head
    extents[index].isUnclaimed = isUnclaimed
  }

  public func head(_ index: Int) -> Int64 { extents[index].head }
  public func isUnclaimed(_ index: Int) -> Bool { extents[index].isUnclaimed }

  /// Adds how long each record has waited.
  public func addWaits(until now: Instant, to histogram: inout DurationHistogram) {
    for index in 0..<count {
      histogram.add(now.nanoseconds &- extents[index].came.nanoseconds)
    }
  }

  /// Inlinable, so that a caller which reads one field copies only that.
  @inlinable
  public func record(_ index: Int) -> Record { records[index] }

  public func withSenderName<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
    let start = index == 0 ? 0 : extents[index - 1].payloadEnd
    return arena.withRawSpan { body($0.extracting(start..<extents[index].nameEnd)) }
  }

  public func withBody<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
    arena.withRawSpan { body($0.extracting(extents[index].nameEnd..<extents[index].bodyEnd)) }
  }

  public func withPayload<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
    arena.withRawSpan { body($0.extracting(extents[index].bodyEnd..<extents[index].payloadEnd)) }
  }
}
