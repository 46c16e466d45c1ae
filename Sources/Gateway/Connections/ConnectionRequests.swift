/// Searches for connections and kicks, which REST handlers and the command line send to all loops.
import Engine
import Kernel
import Primitives
import REST
import Synchronization

enum ConnectionsMail: Sendable {
  case find(ConnectionFilter, ConnectionAnswers)
  /// Disconnect the open connections that the filter accepts: at most one, since it has an id.
  case disconnect(ConnectionFilter, reason: String, ConnectionAnswers)
  case trace(ConnectionTrace, ConnectionAnswers)
}

/// The answers of the loops to one request.
final class ConnectionAnswers: Sendable {
  let countdown: Countdown
  private let records = Mutex<[ConnectionRecord]>([])

  init(loops: Int) { countdown = Countdown(loops) }

  func give(_ found: [ConnectionRecord]) {
    records.withLock { $0 += found }
    countdown.confirm()
  }

  var all: [ConnectionRecord] { records.withLock { $0 } }
}

extension ConnectionJournal {
  mutating func take(
    _ request: ConnectionsMail, _ engine: inout Engine, _ sockets: borrowing SocketTable,
    _ turn: Turn
  ) {
    switch request {
    case .find(let filter, let answers):
      dropOld(turn.wall)
      answers.give(
        filter.newest(of: open(filter, engine, sockets, turn) + ended.matching(filter)))
    case .disconnect(let filter, let reason, let answers):
      let found = open(filter, engine, sockets, turn)
      for record in found {
        for connection in engine.connections.open(workspace: nil, party: nil, name: record.id) {
          engine.kick(connection, reason: reason)
        }
      }
      answers.give(found)
    case .trace(let trace, let answers):
      taps.start(trace, engine.connections)
      answers.give([])
    }
  }

  /// The open connections that the filter accepts, the newest first, as many as it wants.
  private func open(
    _ filter: ConnectionFilter, _ engine: borrowing Engine, _ sockets: borrowing SocketTable,
    _ turn: Turn
  ) -> [ConnectionRecord] {
    guard filter.isEnded != true else { return [] }
    var found: [ConnectionRecord] = []
    for connection in engine.connections.open(
      workspace: filter.workspace, party: filter.party, name: filter.id)
    {
      guard let socket = sockets.socket(ofConnection: connection) else { continue }
      let record = record(
        engine.report(connection), from: sockets[socket].caller.peer.ip, turn)
      guard filter.accepts(record) else { continue }
      found.append(record)
      if found.count == filter.limit { break }
    }
    return found
  }
}

extension LoopServices {
  func find(_ filter: ConnectionFilter) async -> [ConnectionRecord]? {
    await ask { .find(filter, $0) }.map { filter.newest(of: $0) }
  }

  func trace(_ trace: ConnectionTrace) async -> Bool? {
    await ask { .trace(trace, $0) }.map { _ in true }
  }

  func disconnect(
    _ id: Identifier, of workspace: Identifier?, reason: String
  ) async -> Bool? {
    var filter = ConnectionFilter(workspace: workspace, limit: 1)
    filter.id = id
    filter.isEnded = false
    let only = filter
    return await ask { .disconnect(only, reason: reason, $0) }.map { !$0.isEmpty }
  }
}
