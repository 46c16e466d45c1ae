import API
import Engine
import Kernel
import Primitives
import Settings
import Wire

/// From HTTP to WebSocket: everything that can refuse a connection before its 101.
extension EventLoop {
  mutating func upgrade(_ socket: SocketIndex, _ head: RequestHead) {
    guard !drain.isDraining else {
      refuse(
        socket, .upgrade, 503, "the gateway restarts", "The gateway restarts. Try again.",
        headers: [("Retry-After", "1")])
      return
    }
    switch Upgrade.evaluate(
      head, subprotocol: "chirrup.v1", deflate: context.settings.compression.policy)
    {
    case .refuse(let refusal):
      refuse(
        socket, .upgrade, refusal.status, refusal.reason, refusal.reason.description,
        headers: refusal.fields.filter { $0.name != "Connection" }.map { ($0.name, $0.value) })
    case .accept(let response, let deflate):
      guard admitOrigin(socket, head), admitClient(socket, head) else { return }
      let isEcho = head.path == EventLoop.echoPath
      guard
        let id = engine.accept(
          name: random.identifier(at: engine.wall), isEcho: isEcho, deflate: deflate)
      else {
        refuse(
          socket, .upgrade, 503, "too many connections in all", "The gateway is full. Try again.",
          headers: [("Retry-After", "5")])
        return
      }
      become(socket, id, response: response)
    }
  }

  private mutating func admitOrigin(_ socket: SocketIndex, _ head: RequestHead) -> Bool {
    let hasCookie = head.cookie(API.cookieName) != nil
    let isSecure =
      sockets[socket].isSecure || context.proxies.isSecure(sockets[socket].caller.peer.ip, head)
    switch origins.judge(head, hasCookie: hasCookie, isSecure: isSecure) {
    case .admitted(let origin):
      sockets[socket].caller.origin = origin
      return true
    case .refused(let detail):
      refuse(socket, .upgrade, 403, "origin not allowed", detail)
    case .unknown:
      refuse(
        socket, .upgrade, 503, "origins not known yet", "The gateway starts. Try again.",
        headers: [("Retry-After", "1")])
    }
    return false
  }

  /// A client behind a trusted proxy is known from here on, and counted like one that came itself.
  private mutating func admitClient(_ socket: SocketIndex, _ head: RequestHead) -> Bool {
    let peer = sockets[socket].caller.peer
    let client = context.proxies.client(of: peer.ip, head)
    guard client != peer.ip else { return true }
    switch context.admission.enter(client, &sockets[socket].caller.place, now: now) {
    case .admitted:
      sockets[socket].caller.peer = PeerAddress(ip: client, port: 0)
      return true
    case let verdict:
      let refusal = Refused(verdict)
      refuse(
        socket, .upgrade, refusal.status, refusal.reason, refusal.detail,
        headers: [("Retry-After", "\(refusal.retryAfter)")])
      return false
    }
  }

  /// From here on the socket speaks WebSocket. The 101 is the first thing in the connection's
  /// output, so that nothing can overtake it.
  private mutating func become(_ socket: SocketIndex, _ id: ConnectionID, response: [UInt8]) {
    let connection = id.index
    sockets.bind(sockets.id(at: socket), toConnection: connection)
    sockets[socket].phase = .webSocket(connection)
    engine.connections.preface(connection, sockets[socket].exchange.output + response)
    var rest = sockets[socket].exchange.takeRest()
    sockets[socket].endHTTP()
    guard !rest.isEmpty else { return }
    rest.withMutableRawSpan { engine.receive(connection, &$0) }
  }
}

/// What a client is told whom `Admission` does not take.
struct Refused {
  var status: Int
  var reason: StaticString
  var detail: String
  var retryAfter: Int

  init(_ verdict: Admission.Verdict) {
    switch verdict {
    case .admitted: preconditionFailure("who is admitted is not refused")
    case .full:
      self.init(503, "too many connections in all", "The gateway is full. Try again.")
    case .tooManyFromAddress:
      self.init(
        429, "too many connections from one address",
        "Too many connections from this address. Close some, or try again.")
    case .tooFast(let seconds):
      self.init(
        429, "connects too fast from one address",
        "Too many new connections from this address. Try again later.", retryAfter: seconds)
    }
  }

  private init(_ status: Int, _ reason: StaticString, _ detail: String, retryAfter: Int = 5) {
    self.status = status
    self.reason = reason
    self.detail = detail
    self.retryAfter = retryAfter
  }
}
