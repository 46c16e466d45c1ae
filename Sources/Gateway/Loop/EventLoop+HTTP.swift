import Chat
import Engine
import Kernel
import OpenSSL
import Primitives
import REST
import Wire

/// Between `HTTPServer` and the engine: serving requests, and upgrading sockets to WebSocket.
extension EventLoop {
  @inline(never)  // keeps requests out of the path of messages
  mutating func serve(_ socket: SocketIndex) {
    guard let head = http.serve(socket, &sockets, poller.epoll, &metrics, turn) else { return }
    pulse.note(.upgrade)
    upgrade(socket, head)
    pulse.note(.sockets)
  }

  /// Queues the response of a REST handler, which ran as a task.
  mutating func respond(_ id: SocketID, _ response: APIResponse) {
    guard sockets.contains(id), case .http = sockets[id.index].phase else { return }
    http.answer(id.index, response, &sockets, &metrics, turn)
    serve(id.index)
  }

  mutating func flushResponses() {
    let waiting = http.unsent.take()
    for (position, id) in waiting.enumerated() where sockets.contains(id) {
      if http.flush(id.index, tls.workspace, &sockets, poller.epoll, &metrics, turn) {
        serve(id.index)
      }
      if turn.isOver(.output) { return http.unsent.putBack(waiting[(position + 1)...]) }
    }
  }

  /// Turns the socket into a WebSocket. The 101 response is the first part of the connection's
  /// output, so no frame can overtake it.
  private mutating func upgrade(_ socket: SocketIndex, _ head: RequestHead) {
    guard let upgrade = http.acceptUpgrade(socket, head, &sockets, &metrics, turn) else { return }
    guard
      let id = engine.connections.accept(
        name: upgrade.name, isEcho: upgrade.isEcho, deflate: upgrade.deflate, now: engine.now)
    else { return http.refuseUpgrade(socket, AdmissionRefusal(.full), &sockets, &metrics, turn) }
    http.logUpgrade(socket, upgrade, &sockets)
    let connection = id.index
    sockets.bind(sockets.id(at: socket), toConnection: connection)
    sockets[socket].phase = .webSocket(connection)
    engine.connections.preface(connection, sockets[socket].exchange.output + upgrade.response)
    var rest = sockets[socket].exchange.takeRest()
    sockets[socket].endHTTP()
    guard !rest.isEmpty else { return }
    rest.withMutableRawSpan { engine.receive(connection, &$0) }
  }
}
