public import Chat
public import Primitives

/// The engine's output other than bytes for sockets: mail to other loops, database requests,
/// outcomes of REST requests, news of workspaces. The driver takes it once an iteration.
public struct Effects {
  let loop: Int
  let loopCount: Int
  /// By loop.
  private var mail: [[Mail]]
  private var reads = Fifo<ReadRequest>()
  private var verifications: [Verification] = []
  private var departures: [(connection: ConnectionID, loop: Int)] = []
  private var requestOutcomes: [OutcomeMail] = []
  private var news: [WorkspaceNews] = []
  private var changes: [SessionChange] = []
  private var signals: [PeerSignal] = []
  /// Workspaces whose news include every message of a visitor without an operator: those with bots.
  var listeners: Set<Identifier> = []
  /// Whether other gateways use the same database. Only then are changes recorded.
  var hasPeers = false

  init(loop: Int, loopCount: Int) {
    precondition(loopCount > 0 && loopCount <= LoopSet.countMax, "a set of loops has 64 bits")
    self.loop = loop
    self.loopCount = loopCount
    mail = Array(repeating: [], count: loopCount)
  }

  // MARK: Mail

  /// The loop that owns a session: on every loop the same, as long as the number of loops is.
  public func owner(of session: Identifier) -> Int {
    Engine.owner(of: session, loopCount: loopCount)
  }

  /// The loop that a member's connection moves to, or nil when it stays here.
  func loopToMove(_ member: Member) -> Int? {
    guard !member.isOperator, let session = member.sessions.first else { return nil }
    let owner = owner(of: session)
    return owner == loop ? nil : owner
  }

  mutating func post(_ item: Mail, to loop: Int) {
    precondition(loop != self.loop, "a loop does not write mail to itself")
    mail[loop].append(item)
  }

  mutating func post(_ item: Mail, toOwnerOf session: Identifier) {
    post(item, to: owner(of: session))
  }

  /// - Parameter loops: without this one.
  mutating func post(_ item: Mail, toEach loops: LoopSet) {
    loops.forEach { post(item, to: $0) }
  }

  mutating func postToOthers(_ item: Mail) {
    for other in 0..<loopCount where other != loop { post(item, to: other) }
  }

  public mutating func takeMail(for loop: Int) -> [Mail] {
    guard !mail[loop].isEmpty else { return [] }
    var taken: [Mail] = []
    swap(&taken, &mail[loop])
    return taken
  }

  // MARK: The database

  mutating func read(_ request: ReadRequest) { reads.append(request) }

  public mutating func nextRead() -> ReadRequest? { reads.popFirst() }

  /// Whether `nextRead` returns a request. A flush may add some after the store was driven.
  public var hasReads: Bool { !reads.isEmpty }

  // MARK: Tokens and moves

  mutating func verify(_ verification: Verification) { verifications.append(verification) }

  public mutating func takeVerifications() -> [Verification] {
    guard !verifications.isEmpty else { return [] }
    defer { verifications = [] }
    return verifications
  }

  mutating func depart(_ connection: ConnectionID, to loop: Int) {
    departures.append((connection, loop))
  }

  public mutating func takeDepartures() -> [(connection: ConnectionID, loop: Int)] {
    guard !departures.isEmpty else { return [] }
    defer { departures = [] }
    return departures
  }

  // MARK: Outcomes, news and changes

  mutating func finishRequest(_ outcome: OutcomeMail) { requestOutcomes.append(outcome) }

  /// Outcomes for REST requests that wait on this loop.
  public mutating func takeRequestOutcomes() -> [OutcomeMail] {
    guard !requestOutcomes.isEmpty else { return [] }
    defer { requestOutcomes = [] }
    return requestOutcomes
  }

  mutating func report(
    _ workspace: Identifier, _ session: Identifier?, _ kind: WorkspaceNews.Kind
  ) {
    guard news.count < Limits.newsItems else { return }
    news.append(WorkspaceNews(workspace: workspace, session: session, kind: kind))
  }

  /// News of workspaces for the background jobs: queue, assignment, bots.
  public mutating func takeNews() -> [WorkspaceNews] {
    guard !news.isEmpty else { return [] }
    defer { news = [] }
    return news
  }

  /// Reports a visitor's message: the first of a conversation, and every one where bots listen. A
  /// session that is not in memory was written over REST; its status is unknown here, so the
  /// receivers read it from the database. Not inlined, to stay out of the path of other messages.
  @inline(never)
  mutating func reportVisitorMessage(
    _ record: Record, seq: Int64, _ sessions: borrowing SessionTable
  ) {
    if let index = sessions.ready(record.session), sessions[index].snapshot.status != .waiting {
      return
    }
    if seq == 1 { report(record.workspace, record.session, .waits) }
    if !listeners.isEmpty, listeners.contains(record.workspace) {
      report(record.workspace, record.session, .wrote(seq: seq))
    }
  }

  /// Records a change for other gateways on the same database. Call it only with `hasPeers`. Not
  /// inlined, to stay out of the path of messages.
  @inline(never)
  public mutating func noteChange(_ session: Identifier, _ workspace: Identifier?) {
    let change = SessionChange(session: session, workspace: workspace)
    if changes.last != change { changes.append(change) }
  }

  /// Sends typing or presence to other gateways, if there are any.
  mutating func send(_ signal: PeerSignal) {
    if hasPeers, signals.count < Limits.peerSignals { signals.append(signal) }
  }

  public var hasSignals: Bool { !signals.isEmpty }

  public mutating func takeSignals() -> [PeerSignal] {
    defer { signals = [] }
    return signals
  }

  public var hasChanges: Bool { !changes.isEmpty }

  /// Sessions that were changed here since the last call.
  public mutating func takeChanges() -> [SessionChange] {
    guard !changes.isEmpty else { return [] }
    defer { changes = [] }
    return changes
  }
}

/// A session that changed, for other gateways on the same database. They read its state and entries
/// from there, so neither order nor completeness depends on this notice.
public struct SessionChange: Sendable, Hashable {
  public var session: Identifier
  /// Nil when the writer does not know it.
  public var workspace: Identifier?

  public init(session: Identifier, workspace: Identifier?) {
    self.session = session
    self.workspace = workspace
  }
}

/// The outcome of a record, for its origin.
public struct OutcomeMail: Sendable {
  public var origin: Origin
  public var session: Identifier
  public var id: Identifier
  public var outcome: Outcome
  /// The retry delay; 0 unless the outcome is `unavailable`.
  public var retryAfterMilliseconds: Int64

  /// The outcome for a REST request that was waiting when its loop ended.
  public static var unavailable: OutcomeMail {
    OutcomeMail(
      origin: Origin(loop: 0, index: 0, generation: 0, isRequest: true, ref: .none),
      session: .zero, id: .zero, outcome: Outcome(verdict: .unavailable),
      retryAfterMilliseconds: 0)
  }
}

/// A first-in first-out queue.
struct Fifo<Element> {
  private var items: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == items.count }
  var first: Element? { head < items.count ? items[head] : nil }

  mutating func append(_ item: Element) { items.append(item) }

  mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    defer {
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: items.count <= 1024)
        head = 0
      } else if head > 1024 && head > items.count / 2 {
        items.removeFirst(head)
        head = 0
      }
    }
    return items[head]
  }
}
