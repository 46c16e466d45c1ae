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
  mutating func serve(_ slot: Int) {
    var served = 0
    while links.isOccupied(slot), !links[slot].isDoomed, !links[slot].exchange.isBusy,
      !links[slot].exchange.isClosing,
      links[slot].exchange.output.count < HTTPLimits.outputBytes
    {
      guard served < HTTPLimits.requestsPerTurn, served == 0 || !isOver(.sockets) else {
        httpDirty.append(links.id(at: slot))
        return
      }
      served += 1
      switch links[slot].exchange.next() {
      case .needMoreBytes:
        return
      case .expectsContinue:
        links[slot].exchange.output.append("HTTP/1.1 100 Continue\r\n\r\n")
        httpDirty.append(links.id(at: slot))
        return
      case .fault(let status, let reason):
        refuse(slot, .http, status, reason, reason.description)
        return
      case .request(let head, let body):
        figures.httpRequests &+= 1
        dispatch(slot, head, body)
        pulse.note(.sockets)
        if case .webSocket = links[slot].phase { return }
      }
    }
  }

  static let chatPath = "/api/v1/ws"
  static let echoPath = "/debug/echo"

  private mutating func dispatch(_ slot: Int, _ head: RequestHead, _ body: [UInt8]) {
    let peer = links[slot].caller.peer.ip
    guard shared.proxies.contains(peer) || shared.hosts.admit(head.value(of: "host")) else {
      refuse(
        slot, .http, 421, "unknown host",
        "This gateway does not answer under this name. If it should, put the name into "
          + "allowed_hosts, or its URL into public_url.")
      return
    }
    if head.path == EventLoop.chatPath
      || head.path == EventLoop.echoPath && shared.settings.debugEcho
    {
      pulse.note(.upgrade)
      upgrade(slot, head)
    } else if head.path == "*" {
      // RFC 9110 §9.3.7: the server as a whole.
      answer(
        slot, APIResponse(status: 204, headers: [("Allow", "GET, HEAD, POST, OPTIONS")]))
    } else if head.wantsWebSocket && head.method != .get {
      refuse(slot, .upgrade, 400, "upgrade of another method", "Only GET can be upgraded.")
    } else {
      // RFC 9110 §7.8 lets a server ignore an upgrade; whoever sends one here is mistaken and is
      // told, after whatever the route itself has to say.
      links[slot].exchange.isMisplacedUpgrade = head.wantsWebSocket
      route(slot, head, body)
    }
  }

  private mutating func route(_ slot: Int, _ head: RequestHead, _ body: [UInt8]) {
    if head.path.hasPrefix("/api/v1/") {
      callAPI(slot, head, body)
      return
    }
    pulse.note(head.path == StaticRoutes.metricsPath ? .metrics : .page)
    answer(slot, StaticRoutes.answer(head, shared))
  }

  /// Runs the handler as a task on this loop; its answer comes back as mail.
  private mutating func callAPI(_ slot: Int, _ head: RequestHead, _ body: [UInt8]) {
    links[slot].exchange.isBusy = true
    // Nothing more is read until this is answered, so a peer cannot pile up requests.
    watch(slot, [])
    let id = links.id(at: slot)
    let peer = links[slot].caller.peer.ip
    let client = shared.proxies.client(of: peer, head)
    let request = APIRequest(
      method: head.method.description, path: head.path, query: head.rawQuery,
      headers: head.fields.all.map { ($0.name, $0.value) }, body: body,
      peer: client.limitKey.description, now: engine.wall,
      isSecure: links[slot].isSecure || shared.proxies.isSecure(peer, head)
        || shared.settings.publicURL?.hasPrefix("https://") ?? false,
      isExempt: shared.admission.isExempt(client))
    let shared = shared
    let index = index
    Task(executorPreference: shared.executors[index]) {
      let response = await CurrentLoop.$index.withValue(index) {
        await shared.api.handle(request)
      }
      shared.mailboxes[index].post(.response(link: id, response))
    }
  }

  // MARK: Answers

  mutating func respond(_ id: SlotID, _ response: APIResponse) {
    guard links.contains(id), case .http = links[Int(id.index)].phase else { return }
    answer(Int(id.index), response)
    serve(Int(id.index))
  }

  /// Refuses a request, counts why, and closes: what follows it may not be what it seems.
  mutating func refuse(
    _ slot: Int, _ stage: FaultCounts.Stage, _ status: Int, _ reason: StaticString,
    _ detail: String, headers: [(name: String, value: String)] = []
  ) {
    figures.faults.count(stage, reason)
    links[slot].exchange.fail()
    answer(slot, HTTPResponse.problem(status, detail, headers: headers))
  }

  mutating func answer(_ slot: Int, _ response: APIResponse) {
    if drain.isDraining { links[slot].exchange.isKeptAlive = false }
    var response = response
    if links[slot].exchange.isMisplacedUpgrade {
      links[slot].exchange.isKeptAlive = false
      if response.status < 400 {
        figures.faults.count(.upgrade, "no WebSocket at this path")
        response = HTTPResponse.problem(400, "This path does not speak WebSocket.")
      }
    }
    HTTPResponse.append(
      response, isHead: links[slot].exchange.isHead,
      isKeptAlive: links[slot].exchange.isKeptAlive, at: engine.wall,
      to: &links[slot].exchange.output)
    links[slot].exchange.finish(now: now)
    httpDirty.append(links.id(at: slot))
  }

  mutating func flushHTTP(_ slot: Int) {
    guard case .http = links[slot].phase, !links[slot].isDoomed else { return }
    if !links[slot].exchange.output.isEmpty || links[slot].hasUnsent {
      let output = links[slot].exchange.output
      switch output.withRawSpan({ links[slot].send($0, tlsWorkspace) }) {
      case .bytes(let count):
        figures.bytesSent &+= UInt64(count)
        links[slot].exchange.sent(count, now: now)
      case .wouldBlock: break
      case .reset, .failed:
        doom(slot)
        return
      }
    }
    if !links[slot].exchange.output.isEmpty || links[slot].hasUnsent {
      // Not read either until the peer has taken its answer.
      watch(slot, .write)
    } else if links[slot].exchange.isClosing {
      doom(slot)
    } else if !links[slot].exchange.isBusy {
      watch(slot, .read)
      // Pipelined requests that waited for this output.
      serve(slot)
    }
  }

  mutating func sweepHTTP(_ slot: Int) {
    guard !links[slot].exchange.isBusy, now >= links[slot].exchange.deadline else { return }
    if !links[slot].exchange.hasInput || !links[slot].exchange.output.isEmpty
      || links[slot].exchange.isClosing
    {
      if links[slot].exchange.isSilent { figures.faults.count(.http, "nothing came in time") }
      doom(slot)
    } else {
      refuse(
        slot, .http, 408, "request not complete in time",
        "The request did not come in 10 seconds.")
    }
  }
}
