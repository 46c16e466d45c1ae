public import Chat
public import Primitives

/// Answers of the database, and what the driver asks about sessions.
extension Engine {
  /// The answer to `ReadRequest.entries` and `.entriesBefore`; nil when the store did not answer.
  public mutating func entriesLoaded(_ request: ReadRequest, _ page: LogPage?) {
    switch request {
    case .entries(let session, _, _, let purpose), .entriesBefore(let session, _, _, let purpose):
      switch purpose {
      case .backlog(let id):
        fanOut.backlogLoaded(session, id, page?.entries, sessions, &connections)
      case .history(let id, let ref):
        fanOut.historyLoaded(
          request, id, ref, page, sessions, &connections,
          retryAfter: connections.contains(id) ? retryAfter(id.index) : 0)
      case .catchUp: newsLoaded(session, page)
      }
    default: preconditionFailure("only requests for entries are answered with entries")
    }
  }

  private mutating func newsLoaded(_ session: Identifier, _ page: LogPage?) {
    guard let index = sessions.index(of: session) else { return }
    sessions[index].isReading = false
    guard let page else {
      sessions[index].isStale = true
      return
    }
    sessions.append(page.entries, to: index)
    touch(index)
    if page.isFull {
      sessions.readNews(index, &effects)
    } else if sessions[index].isStale {
      sessions.reread(index, &effects)
    }
  }

  /// The answer to `ReadRequest.conversation`: the row as JSON, nil inside when the session is
  /// gone, a failure when the store did not answer.
  public mutating func conversationLoaded(
    _ session: Identifier, _ workspace: Identifier, _ result: Result<[UInt8]?, LoadFault>
  ) {
    inbox.loaded(session, workspace, result, &connections, &effects, now: now)
  }

  /// The answer to `ReadRequest.storeAvailability`.
  public mutating func availabilityStored(_ request: ReadRequest, isStored: Bool) {
    guard case .storeAvailability(let id, _, _, _, _) = request else { return }
    inbox.availabilityStored(
      request, isStored: isStored,
      retryAfter: connections.contains(id) ? retryAfter(id.index) : 0, &connections, &effects)
  }

  /// Asks for the rows of the operators' lists whose time has come.
  public mutating func readInbox() { inbox.read(&effects, now: now) }

  /// When `readInbox` has something to do next.
  public var nextInboxRead: Instant { inbox.nextRead }

  /// Every operator of this loop whose inbox is open, once for each workspace.
  public func operatorsHere() -> [(workspace: Identifier, operator: Identifier)] {
    inbox.operators(connections)
  }

  /// Whether an operator has come since the last call.
  public mutating func takeNewOperators() -> Bool { inbox.takeNewOperators() }

  /// The workspace of a session as far as it is known: the key by which the store finds its rows.
  public func workspace(of id: Identifier) -> Identifier? { sessions.workspace(of: id) }

  /// Reads the state of every session in memory again: another process changed something.
  public mutating func rereadAll() { sessions.rereadAll(&effects) }

  /// Followed sessions of this loop and the head that it knows of each, to be compared with the
  /// database; with the index to go on from, nil behind the last one.
  public func followed(
    from start: SessionIndex, limit: Int
  ) -> (known: [(session: Identifier, workspace: Identifier, head: Int64)], next: SessionIndex?) {
    sessions.followed(from: start, limit: limit)
  }
}
