public import Chat
public import Primitives

/// Responses of the database. `sessionLoaded` is in SessionUpdates.swift.
extension Engine {
  /// The response to `ReadRequest.entries` and `.entriesBefore`.
  /// - Parameter page: nil when the store did not answer.
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
      case .catchUp:
        if let index = sessions.catchUpLoaded(session, page, &effects) { touch(index) }
      }
    default: preconditionFailure("only requests for entries have entries as response")
    }
  }

  /// The response to `ReadRequest.conversation`.
  /// - Parameter result: the row as JSON, nil inside when the session is gone, a failure when the
  ///   store did not answer.
  public mutating func conversationLoaded(
    _ session: Identifier, _ workspace: Identifier, _ result: Result<[UInt8]?, LoadFault>
  ) {
    inbox.loaded(session, workspace, result, &connections, &effects, now: now)
  }

  /// The response to a `ReadRequest` that stores something.
  public mutating func stored(_ request: ReadRequest, isStored: Bool) {
    switch request {
    case .storeMark(_, let session, let workspace, let mark):
      sessions.markStored(request, isStored: isStored, &effects)
      // The row that was read when the mark was raised has the mark before.
      if isStored, mark.read == mark.delivered { inbox.touch(session, workspace, now: now) }
    case .storeAvailability(let id, _, _, _, _):
      inbox.availabilityStored(
        request, isStored: isStored,
        retryAfter: connections.contains(id) ? retryAfter(id.index) : 0, &connections, &effects)
    default: preconditionFailure("the request stores nothing")
    }
  }

  /// Requests the rows of the inbox that are due: see `Inbox.nextRead`.
  public mutating func readInbox() { inbox.read(&effects, now: now) }
}
