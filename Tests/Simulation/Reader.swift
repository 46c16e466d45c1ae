import Chat
import Engine
import Primitives

/// The responses of the reader's connection: the committed rows at the time of the query, or a
/// failure.
enum Reader {
  static func answer(
    _ request: ReadRequest, _ run: Run, isAnswered: Bool
  ) -> (inout Engine) -> Void {
    let postgres = run.postgres
    switch request {
    case .session(let id):
      let result: Result<SessionSnapshot, LoadFault> =
        isAnswered
        ? postgres.sessions[id].map { .success($0.snapshot) } ?? .failure(.noSuchSession)
        : .failure(.unavailable)
      return { $0.sessionLoaded(id, result) }
    case .entries(let id, let after, let limit, let purpose):
      guard isAnswered, let row = postgres.sessions[id] else {
        return { $0.entriesLoaded(request, nil) }
      }
      var after = after
      if case .backlog = purpose, run.bug == .skipOnResume { after += 1 }
      var page = Array(row.entries.dropFirst(Int(min(after, row.snapshot.head))).prefix(limit))
      if run.bug == .dirtyRead { page += uncommitted(row, run) }
      let answer = LogPage(entries: page, isFull: page.count >= limit)
      return { $0.entriesLoaded(request, answer) }
    case .entriesBefore(let id, let before, let limit, _):
      guard isAnswered, let row = postgres.sessions[id] else {
        return { $0.entriesLoaded(request, nil) }
      }
      let page = Array(row.entries.prefix(Int(max(0, before - 1))).suffix(limit))
      let answer = LogPage(entries: page, isFull: page.count == limit)
      return { $0.entriesLoaded(request, answer) }
    case .conversation(let session, let workspace):
      guard isAnswered else {
        return { $0.conversationLoaded(session, workspace, .failure(.unavailable)) }
      }
      let json = Array(#"{"id":"\#(session)"}"#.utf8)
      return { $0.conversationLoaded(session, workspace, .success(json)) }
    case .storeMark(_, let session, _, let mark):
      if isAnswered, run.bug != .loseMark { postgres.store(mark, session) }
      return { $0.stored(request, isStored: isAnswered) }
    case .storeAvailability:
      return { $0.stored(request, isStored: isAnswered) }
    }
  }

  private static func uncommitted(_ row: SimulatedPostgres.Row, _ run: Run) -> [Entry] {
    [
      Entry(
        seq: row.snapshot.head + 1, id: run.dice.identifier(), role: .visitor, kind: .text,
        sender: nil, senderName: [], body: Array("not committed".utf8), payload: [],
        at: run.agenda.wall)
    ]
  }
}
