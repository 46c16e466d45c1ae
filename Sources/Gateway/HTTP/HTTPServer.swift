import Chat
import Directory
import Engine
import Kernel
import Logging
import OpenSSL
import Primitives
import REST
import Settings
import Tokens
import Wire

/// HTTP on one loop: routes requests, sends responses, and admits or refuses upgrades to WebSocket.
struct HTTPServer {
  private let context: GatewayContext
  private let loop: Int
  private let pulse: LoopPulse
  private(set) var rules: LoopRules
  let access: AccessLog
  /// The allowed origins, read by the first loop for all.
  private(set) var origins: Origins
  var random = RandomBlock()
  /// Sockets with responses to be sent.
  var unsent = UnsentSockets()
  private var appends = PendingAppends()
  private var isDraining = false

  private static let chatPath = "/api/v1/ws"
  private static let echoPath = "/debug/echo"

  init(_ context: GatewayContext, loop: Int, _ logger: Logger) {
    self.context = context
    self.loop = loop
    pulse = context.pulses[loop]
    rules = context.rules
    access = AccessLog(logger: logger, assets: context.assets)
    origins = context.rules.origins
  }

  mutating func beginDrain() { isDraining = true }

  /// Takes the workspaces' lists of origins, as the first loop has read them.
  mutating func useLists(of origins: Origins) { self.origins.takeLists(of: origins) }

  mutating func use(_ rules: LoopRules) {
    self.rules = rules
    var origins = rules.origins
    origins.takeLists(of: self.origins)
    self.origins = origins
  }

  // MARK: Requests

  /// Handles complete requests in order, as many as one turn allows; the rest waits for the next
  /// one.
  ///
  /// - Returns: a request for a WebSocket, to be given to `acceptUpgrade`.
  mutating func serve(
    _ socket: SocketIndex, _ sockets: inout SocketTable, _ epoll: borrowing Epoll,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) -> RequestHead? {
    var served = 0
    while sockets.isAlive(socket), !sockets[socket].exchange.isBusy,
      !sockets[socket].exchange.isClosing,
      sockets[socket].exchange.output.count < HTTPLimits.outputBytes
    {
      guard served < HTTPLimits.requestsPerTurn, served == 0 || !turn.isOver(.sockets) else {
        unsent.append(sockets.id(at: socket))
        return nil
      }
      served += 1
      switch sockets[socket].exchange.next() {
      case .needMoreBytes: return nil
      case .expectsContinue:
        sockets[socket].exchange.output.append("HTTP/1.1 100 Continue\r\n\r\n")
        unsent.append(sockets.id(at: socket))
        return nil
      case .fault(let status, let reason):
        if rules.logsAccess { beginAccess(socket, nil, &sockets, turn) }
        refuse(socket, .http, status, reason, reason.description, [], &sockets, &metrics, turn)
        return nil
      case .request(let head, let body):
        metrics.httpRequests &+= 1
        if rules.logsAccess { beginAccess(socket, head, &sockets, turn) }
        if dispatch(socket, head, body, &sockets, epoll, &metrics, turn) { return head }
        pulse.note(.sockets)
      }
    }
    return nil
  }

  /// - Returns: true for a request at a WebSocket's path, which is not handled yet.
  private mutating func dispatch(
    _ socket: SocketIndex, _ head: RequestHead, _ body: [UInt8], _ sockets: inout SocketTable,
    _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics, _ turn: Turn
  ) -> Bool {
    let peer = sockets[socket].caller.peer.ip
    guard rules.proxies.contains(peer) || rules.hosts.admit(head.value(of: "host")) else {
      refuse(
        socket, .http, 421, "unknown host",
        "This gateway does not serve this host name. If it should, add the name to "
          + "allowed_hosts, or set public_url.", [], &sockets, &metrics, turn)
      return false
    }
    if sockets[socket].isAdmin {
      pulse.note(.metrics)
      sockets[socket].exchange.isMisplacedUpgrade = head.wantsWebSocket
      if API.isOfInstance(head.path) {
        callInstance(socket, head, body, &sockets, epoll, &metrics, turn)
        return false
      }
      answer(socket, StaticRoutes.adminAnswer(head, context), &sockets, &metrics, turn)
      return false
    }
    if head.path == HTTPServer.chatPath
      || head.path == HTTPServer.echoPath && context.settings.debugEcho
    {
      return true
    }
    if head.path == "*" {
      // RFC 9110 §9.3.7: OPTIONS of the server as a whole.
      answer(
        socket, APIResponse(status: 204, headers: [("Allow", "GET, HEAD, POST, OPTIONS")]),
        &sockets, &metrics, turn)
    } else if head.path.hasPrefix(ProxyProbe.path), head.method == .get, !head.wantsWebSocket,
      context.probe.admits(head.path, now: turn.now)
    {
      showRequest(socket, head, &sockets, turn)
    } else if head.wantsWebSocket && head.method != .get {
      refuse(
        socket, .upgrade, 400, "upgrade of another method", "Only GET can upgrade to WebSocket.",
        [],
        &sockets, &metrics, turn)
    } else {
      // RFC 9110 §7.8 lets a server ignore an upgrade. Here the client gets an error instead,
      // unless the route itself answers with one.
      sockets[socket].exchange.isMisplacedUpgrade = head.wantsWebSocket
      if head.path.hasPrefix("/api/v1/") {
        callAPI(socket, head, body, &sockets, epoll, turn)
      } else {
        pulse.note(head.path == StaticRoutes.metricsPath ? .metrics : .page)
        answer(socket, StaticRoutes.answer(head, context), &sockets, &metrics, turn)
      }
    }
    return false
  }

  /// The operator of the instance, on this machine only.
  private mutating func callInstance(
    _ socket: SocketIndex, _ head: RequestHead, _ body: [UInt8], _ sockets: inout SocketTable,
    _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    guard sockets[socket].caller.peer.ip.isLoopback else {
      refuse(
        socket, .http, 403, "the instance's operator is not local",
        "This path answers programs of the gateway's own machine only.", [], &sockets, &metrics,
        turn)
      return
    }
    callAPI(socket, head, body, isForInstance: true, &sockets, epoll, turn)
  }

  /// Runs the handler as a task on this loop; its response comes back as mail.
  private func callAPI(
    _ socket: SocketIndex, _ head: RequestHead, _ body: [UInt8], isForInstance: Bool = false,
    _ sockets: inout SocketTable, _ epoll: borrowing Epoll, _ turn: Turn
  ) {
    sockets[socket].exchange.isBusy = true
    // Nothing is read until the response, so requests cannot pile up in memory.
    sockets.watch(socket, [], epoll)
    let id = sockets.id(at: socket)
    let peer = sockets[socket].caller.peer.ip
    let client = rules.proxies.client(of: peer, head)
    let request = APIRequest(
      method: head.method.description, path: head.path, query: head.rawQuery,
      headers: head.fields.all.map { ($0.name, $0.value) }, body: body,
      peer: client.limitKey.description, now: turn.wall,
      isSecure: sockets[socket].isSecure || rules.proxies.isSecure(peer, head)
        || context.settings.publicURL?.hasPrefix("https://") ?? false,
      isExempt: context.admission.isExempt(client),
      trustedCountry: rules.proxies.country(peer, head))
    let context = context
    let loop = loop
    let began = turn.now
    let fields = head.fields
    let isHead = head.method == .head
    Task(executorPreference: context.executors[loop]) {
      var response = await CurrentLoop.$index.withValue(loop) {
        isForInstance
          ? await context.api.handleInstance(request) : await context.api.handle(request)
      }
      ListCoding.apply(to: &response, fields)
      let mailbox = context.mailboxes[loop]
      mailbox.post(.response(socket: id, response, began: began))
      if let pieces = response.pieces, !isHead {
        return await CurrentLoop.$index.withValue(loop) {
          await HTTPServer.send(pieces, to: id, by: mailbox)
        }
      }
      guard let stream = response.stream else { return }
      let reader = StreamReader()
      await CurrentLoop.$index.withValue(loop) {
        await stream { bytes in
          mailbox.post(.responsePart(socket: id, bytes, reader))
          return reader.isThere
        }
      }
      mailbox.post(.responsePart(socket: id, nil, reader))
    }
  }

  /// Answers a request of `chirrup doctor`, see `ProxyProbe`.
  private mutating func showRequest(
    _ socket: SocketIndex, _ head: RequestHead, _ sockets: inout SocketTable, _ turn: Turn
  ) {
    let peer = sockets[socket].caller.peer
    let response = ProxyProbe.response(
      head, peer: peer, client: rules.proxies.client(of: peer.ip, head),
      isTrusted: rules.proxies.contains(peer.ip),
      isSecure: sockets[socket].isSecure || rules.proxies.isSecure(peer.ip, head), at: turn.wall)
    sockets[socket].exchange.output += response
    logAnswer(socket, 200, byteCount: response.count, &sockets)
    sockets[socket].exchange.hold(milliseconds: ProxyProbe.heldMilliseconds, now: turn.now)
    unsent.append(sockets.id(at: socket))
  }

  // MARK: Messages of REST requests

  /// Registers a message of a REST request on this loop.
  ///
  /// - Returns: the message with the origin to which `finish` gets its outcome.
  mutating func append(
    _ item: AppendMail, _ continuation: CheckedContinuation<OutcomeMail, Never>
  ) -> AppendMail {
    var item = item
    item.record.origin.loop = UInt16(loop)
    item.record.origin.index = appends.add(continuation)
    return item
  }

  mutating func finish(_ outcome: OutcomeMail) { appends.finish(outcome.origin.index, outcome) }

  /// The loop ends: waiting requests get the outcome “unavailable”.
  mutating func end() { appends.end() }

  // MARK: Responses

  /// Refuses a request, counts the reason, and closes the connection, since the bytes that follow
  /// may not be a request.
  mutating func refuse(
    _ socket: SocketIndex, _ stage: FaultCounts.Stage, _ status: Int, _ reason: StaticString,
    _ detail: String, _ headers: [(name: String, value: String)], _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    metrics.faults.count(stage, reason)
    sockets[socket].exchange.fail()
    answer(
      socket, HTTPResponse.problem(status, detail, headers: headers), &sockets, &metrics, turn)
  }

  mutating func answer(
    _ socket: SocketIndex, _ response: APIResponse, _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    if isDraining { sockets[socket].exchange.isKeptAlive = false }
    var response = response
    if sockets[socket].exchange.isMisplacedUpgrade {
      sockets[socket].exchange.isKeptAlive = false
      if response.status < 400 {
        metrics.faults.count(.upgrade, "no WebSocket at this path")
        response = HTTPResponse.problem(400, "This path does not speak WebSocket.")
      }
    }
    // RFC 6797 §7.2: never over plain HTTP, where a proxy may be trusted instead.
    if sockets[socket].isSecure, let policy = rules.transportSecurity {
      response.headers.append(("Strict-Transport-Security", policy))
    }
    if let entry = sockets[socket].exchange.access {
      response.headers.append((AccessLog.header, "\(entry.id)"))
    }
    let isStream = response.stream != nil
    if isStream { sockets[socket].exchange.beginStream() }
    let unsentCount = sockets[socket].exchange.output.count
    HTTPResponse.append(
      response, isHead: sockets[socket].exchange.isHead,
      isKeptAlive: sockets[socket].exchange.isKeptAlive, at: turn.wall,
      to: &sockets[socket].exchange.output)
    logAnswer(
      socket, response.status, route: response.route,
      byteCount: sockets[socket].exchange.output.count - unsentCount, &sockets)
    let hasPieces = response.pieces != nil && !sockets[socket].exchange.isHead
    if !isStream, !hasPieces { sockets[socket].exchange.finish(now: turn.now) }
    unsent.append(sockets.id(at: socket))
  }

  /// Continues a response with a stream; nil: its end.
  mutating func answerOn(
    _ id: SocketID, _ bytes: [UInt8]?, _ reader: StreamReader, _ sockets: inout SocketTable,
    _ turn: Turn
  ) {
    guard sockets.contains(id), sockets.isAlive(id.index), case .http = sockets[id.index].phase,
      sockets[id.index].exchange.isStreaming
    else { return reader.leave() }
    if let bytes {
      sockets[id.index].exchange.output += bytes
    } else {
      sockets[id.index].exchange.endStream(now: turn.now)
    }
    unsent.append(id)
  }

  // MARK: Sending

  /// - Returns: whether everything was sent and the next request may be handled.
  func flush(
    _ socket: SocketIndex, _ workspace: TLSWorkspace, _ sockets: inout SocketTable,
    _ epoll: borrowing Epoll, _ metrics: inout LoopMetrics, _ turn: Turn
  ) -> Bool {
    guard case .http = sockets[socket].phase, !sockets[socket].isDoomed else { return false }
    if !sockets[socket].exchange.output.isEmpty || sockets[socket].hasUnsent {
      let output = sockets[socket].exchange.output
      switch output.withRawSpan({ sockets[socket].send($0, workspace) }) {
      case .bytes(let count):
        metrics.bytesSent &+= UInt64(count)
        sockets[socket].exchange.sent(count, now: turn.now)
      case .wouldBlock: break
      case .reset, .failed:
        sockets.doom(socket)
        return false
      }
    }
    sockets[socket].exchange.wantPiece()
    if !sockets[socket].exchange.output.isEmpty || sockets[socket].hasUnsent {
      // The peer must read its response before the gateway reads more requests.
      sockets.watch(socket, .write, epoll)
      return false
    }
    if sockets[socket].exchange.isHeld {
      // `sweep` closes it.
      sockets.watch(socket, [], epoll)
      return false
    }
    if sockets[socket].exchange.isClosing {
      sockets.doom(socket)
      return false
    }
    guard !sockets[socket].exchange.isBusy else {
      // Nothing is read until the response, and the next part of a stream writes by itself.
      sockets.watch(socket, [], epoll)
      return false
    }
    sockets.watch(socket, .read, epoll)
    return true
  }

  mutating func sweep(
    _ socket: SocketIndex, _ sockets: inout SocketTable, _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    if sockets[socket].exchange.isSlow(turn.now) {
      metrics.faults.count(.http, "download was not read in time")
      return sockets.doom(socket)
    }
    guard !sockets[socket].exchange.isBusy, turn.now >= sockets[socket].exchange.deadline else {
      return
    }
    if !sockets[socket].exchange.hasInput || !sockets[socket].exchange.output.isEmpty
      || sockets[socket].exchange.isClosing
    {
      if sockets[socket].exchange.isSilent { metrics.faults.count(.http, "nothing came in time") }
      sockets.doom(socket)
    } else {
      if rules.logsAccess { beginAccess(socket, nil, &sockets, turn) }
      refuse(
        socket, .http, 408, "request not complete in time",
        "The request was not complete after 10 seconds.", [], &sockets, &metrics, turn)
    }
  }

  // MARK: From HTTP to WebSocket

  struct AcceptedUpgrade {
    var response: [UInt8]
    var deflate: DeflateAgreement?
    var isEcho: Bool
    /// A random id of the connection.
    var name: Identifier
  }

  /// - Returns: nil if the upgrade was refused.
  mutating func acceptUpgrade(
    _ socket: SocketIndex, _ head: RequestHead, _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) -> AcceptedUpgrade? {
    guard !isDraining else {
      refuse(
        socket, .upgrade, 503, "the gateway restarts", "The gateway is restarting. Try again.",
        [("Retry-After", "1")], &sockets, &metrics, turn)
      return nil
    }
    switch Upgrade.evaluate(
      head, subprotocol: "chirrup.v1", deflate: context.settings.compression.policy)
    {
    case .refuse(let refusal):
      refuse(
        socket, .upgrade, refusal.status, refusal.reason, refusal.reason.description,
        refusal.fields.filter { $0.name != "Connection" }.map { ($0.name, $0.value) }, &sockets,
        &metrics, turn)
      return nil
    case .accept(let response, let deflate):
      guard admitOrigin(socket, head, &sockets, &metrics, turn),
        admitClient(socket, head, &sockets, &metrics, turn)
      else { return nil }
      return AcceptedUpgrade(
        response: response, deflate: deflate, isEcho: head.path == HTTPServer.echoPath,
        name: random.identifier(at: turn.wall))
    }
  }

  /// Refuses an upgrade for a reason of `Admission`.
  mutating func refuseUpgrade(
    _ socket: SocketIndex, _ refusal: AdmissionRefusal, _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) {
    refuse(
      socket, .upgrade, refusal.status, refusal.reason, refusal.detail,
      [("Retry-After", "\(refusal.retryAfter)")], &sockets, &metrics, turn)
  }

  private mutating func admitOrigin(
    _ socket: SocketIndex, _ head: RequestHead, _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) -> Bool {
    let hasCookie = head.cookie(API.cookieName) != nil
    let isSecure =
      sockets[socket].isSecure || rules.proxies.isSecure(sockets[socket].caller.peer.ip, head)
    switch origins.evaluate(head, hasCookie: hasCookie, isSecure: isSecure) {
    case .admitted(let origin):
      sockets[socket].caller.origin = origin
      return true
    case .refused(let detail):
      refuse(socket, .upgrade, 403, "origin not allowed", detail, [], &sockets, &metrics, turn)
    case .unknown:
      refuse(
        socket, .upgrade, 503, "origins not known yet", "The gateway is starting. Try again.",
        [("Retry-After", "1")], &sockets, &metrics, turn)
    }
    return false
  }

  /// Counts a client behind a trusted proxy by the address that the proxy names.
  private mutating func admitClient(
    _ socket: SocketIndex, _ head: RequestHead, _ sockets: inout SocketTable,
    _ metrics: inout LoopMetrics, _ turn: Turn
  ) -> Bool {
    let peer = sockets[socket].caller.peer
    let client = rules.proxies.client(of: peer.ip, head)
    guard client != peer.ip else { return true }
    switch context.admission.enter(client, &sockets[socket].caller.permit, now: turn.now) {
    case .admitted:
      sockets[socket].caller.peer = PeerAddress(ip: client, port: 0)
      return true
    case let decision:
      refuseUpgrade(socket, AdmissionRefusal(decision), &sockets, &metrics, turn)
      return false
    }
  }
}
