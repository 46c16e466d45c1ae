public import Chat
public import Primitives

/// What the engine wants done outside itself: mail to other loops, reads of the database, answers
/// to requests, news of workspaces. The driver takes it once an iteration.
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

  init(loop: Int, loopCount: Int) {
    precondition(loopCount > 0 && loopCount <= 64, "followers are a set of 64 bits")
    self.loop = loop
    self.loopCount = loopCount
    mail = Array(repeating: [], count: loopCount)
  }

  // MARK: Mail

  /// The loop that owns a session.
  func owner(of session: Identifier) -> Int { Engine.owner(of: session, loopCount: loopCount) }

  mutating func post(_ item: Mail, to loop: Int) {
    precondition(loop != self.loop, "a loop does not write mail to itself")
    mail[loop].append(item)
  }

  mutating func post(_ item: Mail, toOwnerOf session: Identifier) {
    post(item, to: owner(of: session))
  }

  /// - Parameter loops: a set of bits, without this loop's.
  mutating func post(_ item: Mail, toEach loops: UInt64) {
    var rest = loops
    while rest != 0 {
      post(item, to: rest.trailingZeroBitCount)
      rest &= rest - 1
    }
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

  /// Whether `nextRead` has something: also what a flush asked for, after the store was driven.
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

  /// News of workspaces, for the jobs that work in the background: the queue, assignment, bots.
  public mutating func takeNews() -> [WorkspaceNews] {
    guard !news.isEmpty else { return [] }
    defer { news = [] }
    return news
  }

  /// For other gateways on the same database. Apart from the path of messages, where there are no
  /// others.
  @inline(never)
  public mutating func noteChange(_ session: Identifier, _ workspace: Identifier?) {
    let change = SessionChange(session: session, workspace: workspace)
    if changes.last != change { changes.append(change) }
  }

  public var hasChanges: Bool { !changes.isEmpty }

  /// Sessions that were changed here since the last call.
  public mutating func takeChanges() -> [SessionChange] {
    guard !changes.isEmpty else { return [] }
    defer { changes = [] }
    return changes
  }
}

/// A session that changed, for other gateways on the same database. They read its state and its
/// entries from there; so order and completeness do not depend on this notice.
public struct SessionChange: Sendable, Hashable {
  public var session: Identifier
  /// Nil where the writer does not name it.
  public var workspace: Identifier?

  public init(session: Identifier, workspace: Identifier?) {
    self.session = session
    self.workspace = workspace
  }
}

/// A queue that is filled at one end and emptied at the other.
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
