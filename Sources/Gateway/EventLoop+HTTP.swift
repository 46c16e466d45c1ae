import API
import Engine
import Kernel
import Primitives
import Settings
import Wire

/// HTTP on the loop: upgrades and small answers at once, the REST API as async functions on this
/// loop.
extension EventLoop {
  /// Carries out the requests that are complete, one after the other.
  mutating func serve(_ slot: Int) {
    while links.isOccupied(slot), !links[slot].isDoomed, !links[slot].exchange.isBusy,
      !links[slot].exchange.isClosing,
      links[slot].exchange.output.count < HTTPLimits.outputBytes
    {
      switch links[slot].exchange.next() {
      case .needMoreBytes:
        return
      case .expectsContinue:
        links[slot].exchange.output.append("HTTP/1.1 100 Continue\r\n\r\n")
        httpDirty.append(links.id(at: slot))
        return
      case .fault(let status, let reason):
        links[slot].exchange.isKeptAlive = false
        answer(slot, HTTPResponse.problem(status, reason.description))
        return
      case .request(let head, let body):
        figures.httpRequests &+= 1
        if head.path == EventLoop.chatPath
          || head.path == EventLoop.echoPath && shared.settings.debugEcho
        {
          upgrade(slot, head)
          if case .webSocket = links[slot].phase { return }
        } else {
          route(slot, head, body)
        }
      }
    }
  }

  static let chatPath = "/api/v1/ws"
  static let echoPath = "/debug/echo"

  // MARK: Upgrade

  private mutating func upgrade(_ slot: Int, _ head: RequestHead) {
    if drain.isDraining {
      links[slot].exchange.isKeptAlive = false
      answer(
        slot,
        HTTPResponse.problem(
          503, "The gateway restarts. Try again.", headers: [("Retry-After", "1")]))
      return
    }
    switch Upgrade.evaluate(head, subprotocol: "chirrup.v1") {
    case .refuse(let refusal):
      links[slot].exchange.isKeptAlive = false
      answer(
        slot,
        HTTPResponse.problem(
          refusal.status, refusal.reason.description,
          headers: refusal.fields.map { ($0.name, $0.value) }))
    case .accept(let response):
      guard shared.origins.admits(head.values(of: "origin"), host: head.value(of: "host")) else {
        links[slot].exchange.isKeptAlive = false
        answer(slot, HTTPResponse.problem(403, "This Origin may not connect."))
        return
      }
      let isEcho = head.path == EventLoop.echoPath
      guard
        let id = engine.accept(name: random.identifier(at: engine.wall), isEcho: isEcho)
      else {
        links[slot].exchange.isKeptAlive = false
        answer(
          slot,
          HTTPResponse.problem(
            503, "The gateway is full. Try again.", headers: [("Retry-After", "5")]))
        return
      }
      become(slot, id, response: response)
    }
  }

  /// From here on the socket speaks WebSocket. The 101 is the first thing in the connection's
  /// output, so that nothing can overtake it.
  private mutating func become(_ slot: Int, _ id: SlotID, response: [UInt8]) {
    let connection = Int(id.index)
    note(link: links.id(at: slot), ofConnection: connection)
    links[slot].phase = .webSocket(connection)
    engine.preface(connection, links[slot].exchange.output + response)
    var rest = links[slot].exchange.takeRest()
    links[slot].exchange = HTTPExchange(openedAt: now)
    guard !rest.isEmpty else { return }
    rest.withMutableRawSpan { engine.receive(connection, &$0) }
  }

  // MARK: Answers

  private mutating func route(_ slot: Int, _ head: RequestHead, _ body: [UInt8]) {
    if head.path.hasPrefix("/api/v1/") {
      callAPI(slot, head, body)
      return
    }
    answer(slot, StaticRoutes.answer(head, shared))
  }

  /// Runs the handler as a task on this loop; its answer comes back as mail.
  private mutating func callAPI(_ slot: Int, _ head: RequestHead, _ body: [UInt8]) {
    links[slot].exchange.isBusy = true
    // Nothing more is read until this is answered, so a peer cannot pile up requests.
    watch(slot, [])
    let id = links.id(at: slot)
    let request = APIRequest(
      method: head.method.description, path: head.path, query: head.rawQuery,
      headers: head.fields.all.map { ($0.name, $0.value) }, body: body,
      peer: links[slot].peer.ip.limitKey.description, now: engine.wall,
      isSecure: shared.settings.publicURL?.hasPrefix("https://") ?? false)
    let shared = shared
    let index = index
    Task(executorPreference: shared.executors[index]) {
      let response = await CurrentLoop.$index.withValue(index) {
        await shared.api.handle(request)
      }
      shared.mailboxes[index].post(.response(link: id, response))
    }
  }

  mutating func respond(_ id: SlotID, _ response: APIResponse) {
    guard links.contains(id), case .http = links[Int(id.index)].phase else { return }
    answer(Int(id.index), response)
    serve(Int(id.index))
  }

  private mutating func answer(_ slot: Int, _ response: APIResponse) {
    HTTPResponse.append(
      response, isHead: links[slot].exchange.isHead,
      isKeptAlive: links[slot].exchange.isKeptAlive && !drain.isDraining,
      to: &links[slot].exchange.output)
    if drain.isDraining { links[slot].exchange.isKeptAlive = false }
    links[slot].exchange.finish(now: now)
    httpDirty.append(links.id(at: slot))
  }

  mutating func flushHTTP(_ slot: Int) {
    guard case .http = links[slot].phase, !links[slot].isDoomed else { return }
    if !links[slot].exchange.output.isEmpty {
      let pending = links[slot].exchange.output
      switch pending.withRawSpan({ links[slot].descriptor.send($0) }) {
      case .bytes(let count):
        figures.bytesSent &+= UInt64(count)
        links[slot].exchange.output.removeFirst(count)
      case .wouldBlock: break
      case .reset, .failed:
        doom(slot)
        return
      }
    }
    if !links[slot].exchange.output.isEmpty {
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
    if links[slot].exchange.input.isEmpty || links[slot].exchange.isClosing {
      doom(slot)
    } else {
      links[slot].exchange.isKeptAlive = false
      answer(slot, HTTPResponse.problem(408, "The request did not come in 10 seconds."))
    }
  }
}
