import API
import Engine
import Kernel
import Primitives
import Settings
import Wire

/// HTTP on the loop: which request is for whom, and how answers leave.
extension EventLoop {
  /// Carries out the requests that are complete, one after the other. A peer that pipelines many
  /// gets some of them answered, then it is the others' turn.
  mutating func serve(_ socket: SocketIndex) {
    var served = 0
    while sockets.isAlive(socket), !sockets[socket].exchange.isBusy,
      !sockets[socket].exchange.isClosing,
      sockets[socket].exchange.output.count < HTTPLimits.outputBytes
    {
      guard served < HTTPLimits.requestsPerTurn, served == 0 || !isOver(.sockets) else {
        httpDirty.append(sockets.id(at: socket))
        return
      }
      served += 1
      switch sockets[socket].exchange.next() {
      case .needMoreBytes:
        return
      case .expectsContinue:
        sockets[socket].exchange.output.append("HTTP/1.1 100 Continue\r\n\r\n")
        httpDirty.append(sockets.id(at: socket))
        return
      case .fault(let status, let reason):
        refuse(socket, .http, status, reason, reason.description)
        return
      case .request(let head, let body):
        metrics.httpRequests &+= 1
        dispatch(socket, head, body)
        pulse.note(.sockets)
        if case .webSocket = sockets[socket].phase { return }
      }
    }
  }

  static let chatPath = "/api/v1/ws"
  static let echoPath = "/debug/echo"

  private mutating func dispatch(_ socket: SocketIndex, _ head: RequestHead, _ body: [UInt8]) {
    let peer = sockets[socket].caller.peer.ip
    guard context.proxies.contains(peer) || context.hosts.admit(head.value(of: "host")) else {
      refuse(
        socket, .http, 421, "unknown host",
        "This gateway does not answer under this name. If it should, put the name into "
          + "allowed_hosts, or its URL into public_url.")
      return
    }
    if head.path == EventLoop.chatPath
      || head.path == EventLoop.echoPath && context.settings.debugEcho
    {
      pulse.note(.upgrade)
      upgrade(socket, head)
    } else if head.path == "*" {
      // RFC 9110 §9.3.7: the server as a whole.
      answer(
        socket, APIResponse(status: 204, headers: [("Allow", "GET, HEAD, POST, OPTIONS")]))
    } else if head.wantsWebSocket && head.method != .get {
      refuse(socket, .upgrade, 400, "upgrade of another method", "Only GET can be upgraded.")
    } else {
      // RFC 9110 §7.8 lets a server ignore an upgrade; whoever sends one here is mistaken and is
      // told, after whatever the route itself has to say.
      sockets[socket].exchange.isMisplacedUpgrade = head.wantsWebSocket
      route(socket, head, body)
    }
  }

  private mutating func route(_ socket: SocketIndex, _ head: RequestHead, _ body: [UInt8]) {
    if head.path.hasPrefix("/api/v1/") {
      callAPI(socket, head, body)
      return
    }
    pulse.note(head.path == StaticRoutes.metricsPath ? .metrics : .page)
    answer(socket, StaticRoutes.answer(head, context))
  }

  /// Runs the handler as a task on this loop; its answer comes back as mail.
  private mutating func callAPI(_ socket: SocketIndex, _ head: RequestHead, _ body: [UInt8]) {
    sockets[socket].exchange.isBusy = true
    // Nothing more is read until this is answered, so a peer cannot pile up requests.
    watch(socket, [])
    let id = sockets.id(at: socket)
    let peer = sockets[socket].caller.peer.ip
    let client = context.proxies.client(of: peer, head)
    let request = APIRequest(
      method: head.method.description, path: head.path, query: head.rawQuery,
      headers: head.fields.all.map { ($0.name, $0.value) }, body: body,
      peer: client.limitKey.description, now: engine.wall,
      isSecure: sockets[socket].isSecure || context.proxies.isSecure(peer, head)
        || context.settings.publicURL?.hasPrefix("https://") ?? false,
      isExempt: context.admission.isExempt(client))
    let context = context
    let index = index
    Task(executorPreference: context.executors[index]) {
      let response = await CurrentLoop.$index.withValue(index) {
        await context.api.handle(request)
      }
      context.mailboxes[index].post(.response(socket: id, response))
    }
  }

  // MARK: Answers

  mutating func respond(_ id: SocketID, _ response: APIResponse) {
    guard sockets.contains(id), case .http = sockets[id.index].phase else { return }
    answer(id.index, response)
    serve(id.index)
  }

  /// Refuses a request, counts why, and closes: what follows it may not be what it seems.
  mutating func refuse(
    _ socket: SocketIndex, _ stage: FaultCounts.Stage, _ status: Int, _ reason: StaticString,
    _ detail: String, headers: [(name: String, value: String)] = []
  ) {
    metrics.faults.count(stage, reason)
    sockets[socket].exchange.fail()
    answer(socket, HTTPResponse.problem(status, detail, headers: headers))
  }

  mutating func answer(_ socket: SocketIndex, _ response: APIResponse) {
    if drain.isDraining { sockets[socket].exchange.isKeptAlive = false }
    var response = response
    if sockets[socket].exchange.isMisplacedUpgrade {
      sockets[socket].exchange.isKeptAlive = false
      if response.status < 400 {
        metrics.faults.count(.upgrade, "no WebSocket at this path")
        response = HTTPResponse.problem(400, "This path does not speak WebSocket.")
      }
    }
    HTTPResponse.append(
      response, isHead: sockets[socket].exchange.isHead,
      isKeptAlive: sockets[socket].exchange.isKeptAlive, at: engine.wall,
      to: &sockets[socket].exchange.output)
    sockets[socket].exchange.finish(now: now)
    httpDirty.append(sockets.id(at: socket))
  }

  mutating func flushHTTP(_ socket: SocketIndex) {
    guard case .http = sockets[socket].phase, !sockets[socket].isDoomed else { return }
    if !sockets[socket].exchange.output.isEmpty || sockets[socket].hasUnsent {
      let output = sockets[socket].exchange.output
      switch output.withRawSpan({ sockets[socket].send($0, tlsWorkspace) }) {
      case .bytes(let count):
        metrics.bytesSent &+= UInt64(count)
        sockets[socket].exchange.sent(count, now: now)
      case .wouldBlock: break
      case .reset, .failed:
        doom(socket)
        return
      }
    }
    if !sockets[socket].exchange.output.isEmpty || sockets[socket].hasUnsent {
      // Not read either until the peer has taken its answer.
      watch(socket, .write)
    } else if sockets[socket].exchange.isClosing {
      doom(socket)
    } else if !sockets[socket].exchange.isBusy {
      watch(socket, .read)
      // Pipelined requests that waited for this output.
      serve(socket)
    }
  }

  mutating func sweepHTTP(_ socket: SocketIndex) {
    guard !sockets[socket].exchange.isBusy, now >= sockets[socket].exchange.deadline else { return }
    if !sockets[socket].exchange.hasInput || !sockets[socket].exchange.output.isEmpty
      || sockets[socket].exchange.isClosing
    {
      if sockets[socket].exchange.isSilent { metrics.faults.count(.http, "nothing came in time") }
      doom(socket)
    } else {
      refuse(
        socket, .http, 408, "request not complete in time",
        "The request did not come in 10 seconds.")
    }
  }
}
