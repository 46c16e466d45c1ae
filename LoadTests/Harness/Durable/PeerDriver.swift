/// The peer of the gateway: a chat server that stores each message with its own INSERT, committed
/// before it is acknowledged, without a gateway.
import Glibc
import Kernel
import Postgres
import Primitives

/// It uses the gateway's table with its indexes and foreign key, and prepared statements in binary
/// form. Every connection has its own sessions, so none waits for another's lock.
final class PeerDriver {
  enum Kind: String, CaseIterable {
    /// One autocommitted INSERT at a time on one connection. The peer numbers the messages itself,
    /// stores no hash and searches no duplicate.
    case insert
    /// The same on ten connections.
    case insertPool = "insert_pool"
    /// As common in chat servers: BEGIN, INSERT, UPDATE of the conversation's row (last message,
    /// preview, count), COMMIT, each sent after the previous answer.
    case conversation
    case conversationPool = "conversation_pool"

    var connections: Int { self == .insertPool || self == .conversationPool ? 10 : 1 }

    fileprivate var steps: [String] {
      switch self {
      case .insert, .insertPool: ["insert"]
      case .conversation, .conversationPool: ["begin", "insert", "touch", "commit"]
      }
    }
  }

  private let local: LocalGateway
  private let sessions: OwnSessions
  private let bodyBytes: Int
  /// The last seq of each session.
  private var heads: [Int64]
  private(set) var stored = 0

  init(_ local: LocalGateway, bodyBytes: Int, like credentials: [Credential]) throws {
    self.local = local
    self.bodyBytes = bodyBytes
    sessions = try OwnSessions(local, like: credentials)
    heads = Array(repeating: 0, count: sessions.ids.count)
  }

  func run(_ kind: Kind, seconds: Int) throws -> Double {
    let peers = try (0..<kind.connections).map { _ in try Peer(local.database, steps: kind.steps) }
    let source = PeerSource(sessions: sessions, bodyBytes: bodyBytes)
    let epoll = try Epoll()
    var events = Events(capacity: 16)
    for (number, peer) in peers.enumerated() {
      try epoll.add(rawValue: peer.descriptor, .read, datum: UInt64(number))
      try start(peer, number, of: peers.count, source)
    }
    let begin = SystemClock.now()
    let warm = begin.advanced(byMilliseconds: SenderPool.warmMilliseconds)
    let end = begin.advanced(byMilliseconds: Int64(seconds) * 1000)
    var (start, counted, now, flying) = (begin, 0, begin, peers.count)
    while flying > 0 {
      try epoll.wait(into: &events, timeoutMilliseconds: 1_000)
      now = SystemClock.now()
      guard now < end.advanced(byMilliseconds: Peer.answerMilliseconds) else {
        throw DirectFailure(reason: "\(flying) statements got no answer in 30 s")
      }
      for position in 0..<events.count {
        let number = Int(events[position].datum)
        guard try peers[number].advance() else { continue }
        stored += 1
        if now < end {
          counted += 1
          try self.start(peers[number], number, of: peers.count, source)
        } else {
          flying -= 1
        }
      }
      if start == begin, now >= warm { (start, counted) = (now, 0) }
    }
    return Double(counted) * 1e9 / Double(max(1, min(now, end).nanoseconds - start.nanoseconds))
  }

  /// Starts the next message of one connection, in the next of its sessions.
  private func start(_ peer: Peer, _ number: Int, of count: Int, _ source: PeerSource) throws {
    let session = (peer.made * count + number) % heads.count
    heads[session] += 1
    peer.made += 1
    source.write(
      session: sessions.ids[session], seq: heads[session], connection: number, number: peer.made,
      to: peer)
    try peer.begin()
  }

  func verify() throws -> (rows: Int, holes: Int) { try OwnSessions.count(sessions.ids, local) }
}

/// The parameters of messages.
private struct PeerSource {
  let sessions: OwnSessions
  private let stamp: Stamp
  private let bodies: [[UInt8]]

  init(sessions: OwnSessions, bodyBytes: Int) {
    self.sessions = sessions
    let bodies = Bodies(byteCount: bodyBytes)
    self.bodies = (0..<64).map { bodies.body(of: Identifier(high: 0, low: $0)) }
    stamp = Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now())
  }

  func write(
    session: Identifier, seq: Int64, connection: Int, number: Int, to peer: Peer
  ) {
    let id = stamp.identifier(due: SystemClock.now(), client: connection, number: number)
    let body = bodies[number & 63]
    peer.insert.removeAll()
    peer.insert.append(.uuid(id))
    peer.insert.append(.uuid(sessions.workspace))
    peer.insert.append(.uuid(session))
    peer.insert.append(.int(seq))
    peer.insert.append(.utf8(body))
    peer.insert.append(.uuid(sessions.visitor))
    peer.touch.removeAll()
    peer.touch.append(.uuid(session))
    peer.touch.append(.int(seq))
    peer.touch.append(.utf8(body))
  }
}

/// One connection of the peer: a statement, its answer, the next statement.
private final class Peer {
  var insert = ParameterBuffer()
  var touch = ParameterBuffer()
  var made = 0
  private var pq: PQConnection
  private let steps: [String]
  private var step = 0

  static let answerMilliseconds: Int64 = 30_000

  private static let insertText: SQL = """
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, user_id,
      content_hash, created_at)
    VALUES ($1, $2, $3, $4, 'visitor', 'text', $5, $6, '', now())
    """
  private static let touchText: SQL = """
    UPDATE chat_sessions SET last_seq = $2, message_count = message_count + 1,
      last_message_at = now(), last_message_preview = left($3, 120),
      last_message_role = 'visitor', updated_at = now()
    WHERE id = $1
    """

  init(_ url: String, steps: [String]) throws {
    self.steps = steps
    guard let pq = PQConnection.start(url: url) else {
      throw DirectFailure(reason: "out of memory")
    }
    self.pq = pq
    let limit = SystemClock.now().advanced(byMilliseconds: 10_000)
    connecting: while true {
      switch self.pq.advanceConnect() {
      case .ready: break connecting
      case .failed: throw DirectFailure(reason: self.pq.errorMessage)
      case .waiting: try awaitNews()
      }
      if SystemClock.now() > limit { throw DirectFailure(reason: "no connection in 10 s") }
    }
    let uuid = ParameterBuffer.TypeID.uuid.rawValue
    let (int8, text) = (ParameterBuffer.TypeID.int8.rawValue, ParameterBuffer.TypeID.text.rawValue)
    guard self.pq.prepare("begin", "BEGIN", types: []),
      self.pq.prepare("commit", "COMMIT", types: []),
      self.pq.prepare("insert", Peer.insertText, types: [uuid, uuid, uuid, int8, text, uuid]),
      self.pq.prepare("touch", Peer.touchText, types: [uuid, int8, text]), self.pq.sync()
    else { throw DirectFailure(reason: self.pq.errorMessage) }
    _ = self.pq.flush()
    let answered = SystemClock.now().advanced(byMilliseconds: Peer.answerMilliseconds)
    while try !isAnswered() {
      guard SystemClock.now() < answered else {
        throw DirectFailure(reason: "no answer to PREPARE in 30 s")
      }
      try awaitNews()
    }
  }

  /// Waits for an answer of the server, for a short time.
  private func awaitNews() throws {
    let epoll = try Epoll()
    try epoll.add(rawValue: pq.descriptor, .read, datum: 0)
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: 5)
  }

  var descriptor: Int32 { pq.descriptor }

  func begin() throws {
    step = 0
    try send()
  }

  /// Whether the message is committed.
  func advance() throws -> Bool {
    guard try isAnswered() else { return false }
    step += 1
    if step == steps.count { return true }
    try send()
    return false
  }

  private func send() throws {
    let parameters = steps[step] == "insert" ? insert : steps[step] == "touch" ? touch : none
    guard pq.execute(steps[step], parameters), pq.sync(), pq.flush() != .failed else {
      throw DirectFailure(reason: pq.errorMessage)
    }
  }

  private let none = ParameterBuffer()

  /// Whether all results up to the sync have arrived.
  private func isAnswered() throws -> Bool {
    guard pq.receive() else { throw DirectFailure(reason: pq.errorMessage) }
    var nones = 0
    while nones < 2, !pq.isBusy {
      guard let answer = pq.next() else {
        nones += 1
        continue
      }
      nones = 0
      switch answer.form {
      case .sync: return true
      case .done, .skipped: continue
      case .refused: throw DirectFailure(reason: answer.refusal.message)
      }
    }
    return false
  }
}
