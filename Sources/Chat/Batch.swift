public import Primitives

/// One row to append, without its bytes: those lie in the batch's arena.
public struct Record: Sendable {
  /// The sender's, and so the session's: the key by which data are spread over machines.
  public var workspace: Identifier
  public var session: Identifier
  public var id: Identifier
  public var role: Role
  public var kind: Kind
  public var sender: Identifier?
  /// Whom to answer: opaque to the journal, made and read by the engine.
  public var origin: Origin

  public init(
    workspace: Identifier, session: Identifier, id: Identifier, role: Role, kind: Kind,
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

/// The connection (or REST request) that waits for the outcome of a record.
public struct Origin: Sendable, Equatable {
  /// Index of the loop that holds the connection.
  public var loop: UInt16
  /// The connection's index in that loop's table, or the number of a REST request.
  public var index: UInt32
  /// The generation of the index; it differs once the connection has gone.
  public var generation: UInt32
  public var isRequest: Bool
  /// The client's `ref`, kept as it came: at most 34 bytes of JSON (a string of 32 or an integer).
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

/// What became of one record. `at` is the time PostgreSQL stored with it.
public struct Outcome: Sendable, Equatable {
  public enum Verdict: UInt8, Sendable {
    /// Committed now, under `seq`.
    case stored
    /// The same id with the same content was committed before, under `seq`.
    case duplicate
    /// The id was committed before with other content, or in another session: `id_conflict`.
    case conflict
    /// No such session (or it was deleted): `no_such_session`.
    case noSuchSession
    /// The session is closed and the sender may not write into closed sessions: `session_closed`.
    case closed
    /// PostgreSQL will never accept this row: `rejected`.
    case rejected
    /// Not stored; the same id may be sent again: `unavailable`.
    case unavailable
  }
  public var verdict: Verdict
  public var seq: Int64
  public var at: WallTime

  public init(verdict: Verdict, seq: Int64 = 0, at: WallTime = WallTime(microseconds: 0)) {
    self.verdict = verdict
    self.seq = seq
    self.at = at
  }
}

/// The records that one transaction will append, in the order they came. Filled by the engine while
/// the previous batch is in flight, laid out by the journal as arrays of parameters.
///
/// Bounded by `Limits.batchRecords` and `Limits.batchBytes`. The storage is kept when the batch is
/// emptied, so a warm batch takes a record without allocating.
public struct Batch: ~Copyable {
  private struct Extent {
    var nameEnd: Int
    var bodyEnd: Int
    var payloadEnd: Int
  }
  @usableFromInline var records: [Record] = []
  private var extents: [Extent] = []
  private var arena: [UInt8] = []

  public init() {}

  public var count: Int { records.count }
  public var isEmpty: Bool { records.isEmpty }
  /// Bytes of names, bodies and payloads.
  public var byteCount: Int { arena.count }

  public mutating func append(
    _ record: Record, senderName: RawSpan, body: RawSpan, payload: RawSpan
  ) {
    precondition(count < Limits.batchRecords, "the engine submits a full batch before it adds more")
    records.append(record)
    arena.append(senderName)
    let nameEnd = arena.count
    arena.append(body)
    let bodyEnd = arena.count
    arena.append(payload)
    extents.append(Extent(nameEnd: nameEnd, bodyEnd: bodyEnd, payloadEnd: arena.count))
  }

  public mutating func removeAll() {
    records.removeAll(keepingCapacity: true)
    extents.removeAll(keepingCapacity: true)
    arena.removeAll(keepingCapacity: true)
  }

  /// A reader of one field copies only that.
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
