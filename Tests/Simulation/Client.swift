import Chat
import Primitives
import Wire

/// A client that follows Sources/PROTOCOL.md like widget and console: its outbox repeats messages
/// in order under the same ids, it counts the entries of each session, and it reconnects. Within
/// the rules it also misbehaves: it sends duplicates, stops reading, and disconnects without a
/// close.
final class Client {
  enum ConnectionState { case offline, opening, open }

  unowned let run: Run
  let number: Int
  let token: String
  let isOperator: Bool
  let workspace: Int
  /// The sessions that it follows all the time.
  let own: [Identifier]
  /// The session that an operator follows for a moment.
  private var visited: Identifier?
  private(set) var state = ConnectionState.offline
  private(set) var socket: Socket?
  var outbox = Outbox()
  private(set) var views: [Identifier: View] = [:]
  private(set) var isReading = true
  private var decoder = MessageDecoder(role: .client, limits: Client.limits)
  /// Subscribe commands without an answer, by ref.
  private var subscribing: [Int: (session: Identifier, after: Int64?)] = [:]
  private var lastRef = 0
  private var sent = 0
  private var dice: Dice
  private var attempts = 0

  static let limits = MessageLimits(messageBytes: 1 << 24, fragments: 1)

  init(run: Run, number: Int, isOperator: Bool, workspace: Int, own: [Identifier]) {
    self.run = run
    self.number = number
    self.isOperator = isOperator
    self.workspace = workspace
    self.own = own
    token = "\(isOperator ? "operator" : "visitor")-\(number)"
    dice = Dice(seed: run.dice.next())
  }

  var isIdle: Bool { outbox.isEmpty && visited == nil }

  var person: Identifier { Identifier(high: 0xC, low: UInt64(number)) }

  /// The sessions whose events it may receive.
  var visibleSessions: [Identifier] { isOperator ? own + run.quiet[workspace] : own }

  // MARK: Actions

  func live() {
    let pause = run.isRecovering ? 100 + dice.below(200) : 1 + dice.below(400)
    run.agenda.after(milliseconds: pause) { [weak self] in
      self?.act()
      self?.live()
    }
  }

  private func act() {
    switch state {
    case .offline: connect()
    case .opening: break
    case .open:
      for session in own + (visited.map { [$0] } ?? [])
      where views[session] == nil && !subscribing.values.contains(where: { $0.session == session })
      {
        subscribe(session, after: nil)
      }
      if run.isRecovering { readAll() } else { misbehave() }
      endVisit()
      pump()
    }
  }

  private func misbehave() {
    let session = own[dice.below(own.count)]
    switch dice.below(40) {
    case 0..<16: for _ in 0...dice.below(4) { write(to: session) }
    case 16: for _ in 0..<40 { write(to: session) }
    case 17: send(#"{"type":"typing","session":"\#(session)","active":true,"preview":"…"}"#)
    case 18: read(session)
    case 19:
      send(#"{"type":"history","ref":\#(newRef()),"session":"\#(session)","before":4,"limit":3}"#)
    // With messages in flight, unsubscribing would give up their order.
    case 20 where outbox.isEmpty && subscribing.isEmpty:
      views[session] = nil
      send(#"{"type":"unsubscribe","ref":\#(newRef()),"session":"\#(session)"}"#)
    case 21, 22: leave()
    case 23: stopReading()
    case 24: probe()
    case 25: outbox.repeatLastAcked(in: own)
    case 26: subscribe(session, after: views[session].map { $0.next - 1 })
    case 27: send(#"{"type":"watch","ref":\#(newRef()),"inbox":true}"#)
    case 28 where isOperator:
      run.postgresChange(session, dice.onceIn(3) ? .closed : .active, by: self)
    case 29...33 where isOperator && visited == nil: visit()
    default: break
    }
  }

  private func visit() {
    let session = run.quiet[workspace][dice.below(run.quiet[workspace].count)]
    visited = session
    subscribe(session, after: nil)
    if dice.onceIn(2) { write(to: session) }
  }

  /// Unsubscribes from the visited session once all messages to it are settled.
  private func endVisit() {
    guard let session = visited, views[session]?.isSubscribed == true,
      !outbox.holds(session), !subscribing.values.contains(where: { $0.session == session }),
      run.isRecovering || dice.onceIn(2)
    else { return }
    visited = nil
    views[session] = nil
    send(#"{"type":"unsubscribe","ref":\#(newRef()),"session":"\#(session)"}"#)
  }

  /// Marks have no answer, so `subscribed` repeats them after every reconnection.
  private func read(_ session: Identifier) {
    guard let view = views[session], view.isSubscribed, view.next > 1 else { return }
    views[session]?.read = view.next - 1
    send(#"{"type":"read","session":"\#(session)","seq":\#(view.next - 1)}"#)
  }

  /// Repeats marks occasionally until the end.
  private func readAll() {
    for session in own where dice.onceIn(20) { read(session) }
  }

  private func write(to session: Identifier) {
    guard outbox.count < 80 else { return }
    sent += 1
    var body = "c\(number) #\(sent) "
    if dice.onceIn(60) { body = Body.poisonText + body }
    if dice.onceIn(20) { body += String(repeating: "x", count: dice.below(12_000)) }
    outbox.append(
      Pending(
        session: session, id: dice.identifier(),
        kind: isOperator && dice.onceIn(6) ? "note" : "text", body: body))
  }

  /// Subscribes to a session of another workspace. The answer must be the one for a missing
  /// session.
  private func probe() {
    guard let foreign = run.foreignSession(of: workspace) else { return }
    send(#"{"type":"subscribe","ref":\#(newRef()),"session":"\#(foreign)","after":0}"#)
  }

  private func stopReading() {
    isReading = false
    run.agenda.after(milliseconds: 20 + dice.below(3_000)) { [weak self] in self?.readAgain() }
  }

  func readAgain() {
    isReading = true
    socket?.resumeReading()
  }

  // MARK: The connection

  private func connect() {
    attempts += 1
    guard let socket = run.connect(self) else { return }
    self.socket = socket
    state = .opening
    decoder = MessageDecoder(role: .client, limits: Client.limits)
    outbox.connectionLost()
    subscribing = [:]
    for session in views.keys {
      views[session]?.isLive = false
      views[session]?.isSubscribed = false
    }
    // Resumes with the hello or with single commands.
    var list: [String] = []
    if dice.onceIn(2) {
      for (session, view) in views.sorted(by: { $0.key < $1.key }) {
        let ref = newRef()
        subscribing[ref] = (session, view.next - 1)
        list.append(
          #"{"ref":\#(ref),"session":"\#(session)","after":\#(view.next - 1),"#
            + #""epoch":"\#(view.epoch)"}"#)
      }
    }
    let subscribe = list.isEmpty ? "" : #","subscribe":[\#(list.joined(separator: ","))]"#
    send(#"{"type":"hello","ref":\#(newRef()),"token":"\#(token)"\#(subscribe)}"#)
    if list.isEmpty {
      for (session, view) in views.sorted(by: { $0.key < $1.key }) {
        self.subscribe(session, after: view.next - 1)
      }
    }
  }

  private func subscribe(_ session: Identifier, after: Int64?) {
    let view = views[session]
    let epoch = view.map { #","epoch":"\#($0.epoch)""# } ?? ""
    let place = after.map { #","after":\#($0)"# } ?? #","tail":\#(1 + dice.below(20))"#
    let ref = newRef()
    subscribing[ref] = (session, after)
    send(#"{"type":"subscribe","ref":\#(ref),"session":"\#(session)"\#(place)\#(epoch)}"#)
  }

  func leave() {
    guard let socket else { return }
    run.log("client \(number) leaves")
    self.socket = nil
    state = .offline
    if dice.onceIn(2) { socket.reset() } else { socket.endFromClient() }
  }

  func ended(_ socket: Socket) {
    guard socket === self.socket else { return }
    self.socket = nil
    state = .offline
    isReading = true
  }

  private func newRef() -> Int {
    lastRef += 1
    return lastRef
  }

  private func send(_ text: String) {
    guard let socket else { return }
    run.log("client \(number) sends \(text.prefix(200))")
    var bytes: [UInt8] = []
    Array(text.utf8).withRawSpan {
      FrameEncoder.appendMaskedFrame(
        .text, payload: $0, maskKey: UInt32(truncatingIfNeeded: dice.next()), to: &bytes)
    }
    socket.sendFromClient(bytes)
  }

  /// Sends the messages that may be sent, in order for each session.
  func pump() {
    guard state == .open else { return }
    let window = run.isRecovering ? 8 : 20
    // Before `subscribed`, a send might be refused and a later one accepted.
    let open = Set(views.filter { $0.value.isSubscribed }.keys)
    while let pending = outbox.nextToSend(open, window: window, now: run.agenda.microseconds) {
      let ref = newRef()
      outbox.sent(pending.id, ref: ref)
      send(
        #"{"type":"send","ref":\#(ref),"session":"\#(pending.session)","id":"\#(pending.id)","#
          + #""kind":"\#(pending.kind)","body":"\#(pending.body)"}"#)
    }
  }

  // MARK: Events

  func receive(_ bytes: [UInt8], _ socket: Socket) {
    guard socket === self.socket else { return }
    var bytes = bytes
    var texts: [String] = []
    var hasEnded = false
    bytes.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        let step: MessageDecoder.Step
        do throws(FrameFault) {
          step = try decoder.next(&buffer, offset: &offset)
        } catch {
          run.checker.fail("client \(number): the gateway sent an invalid frame: \(error)")
          return
        }
        switch step {
        case .needMoreBytes: return
        case .message(_, .inPlace(let range)):
          texts.append(buffer.bytes.extracting(range).string)
        case .message(_, .assembled): texts.append(decoder.withAssembled { $0.string })
        case .ping, .pong, .deflatedMessage: break
        case .close: hasEnded = true
        }
      }
    }
    for text in texts { handle(text) }
    if hasEnded { leave() }
  }

  private func handle(_ text: String) {
    let event = Event(text)
    run.log("client \(number) receives \(text.prefix(200))")
    switch event.type {
    case "welcome":
      state = .open
      attempts = 0
    case "ping": send(#"{"type":"pong"}"#)
    case "ack":
      run.checker.acked(event, self)
      outbox.acked(event.integer("ref"))
      pump()
    case "error": refused(event)
    case "subscribed": subscribed(event)
    case "message": message(event)
    case "live": live(event)
    case "resync":
      if let session = event.session { views[session] = nil }
      run.checker.resynced(event, self)
    case "ok" where event.text.contains(#""messages":"#): run.checker.history(event, self)
    case "session", "typing", "mark", "inbox": run.checker.checkVisible(event, self)
    default: break
    }
  }

  private func subscribed(_ event: Event) {
    guard let session = event.session, let from = event.integer("from"),
      let head = event.integer("head")
    else { return run.checker.fail("client \(number): subscribed without its fields") }
    guard let ref = event.integer("ref"), let request = subscribing.removeValue(forKey: ref) else {
      return run.checker.fail("client \(number): subscribed without a subscribe")
    }
    run.checker.subscribed(event, self, after: request.after, from: Int64(from), head: Int64(head))
    let old = views[session]
    views[session] = View(
      next: Int64(from), epoch: event.string("epoch") ?? "", isSubscribed: true)
    guard let old, old.epoch == event.string("epoch"), old.read > 0 else { return }
    views[session]?.read = old.read
    send(#"{"type":"read","session":"\#(session)","seq":\#(old.read)}"#)
  }

  private func message(_ event: Event) {
    guard let session = event.session, let seq = event.integer("seq") else {
      return run.checker.fail("client \(number): a message without session or seq")
    }
    guard var view = views[session] else {
      // After `resync`, some entries may still be in flight.
      return run.checker.unexpected(event, self)
    }
    run.checker.received(event, self, view)
    view.next = Int64(seq) + 1
    views[session] = view
  }

  private func live(_ event: Event) {
    guard let session = event.session, let seq = event.integer("seq") else { return }
    guard let view = views[session] else { return }
    if view.next != Int64(seq) + 1 {
      run.checker.fail("client \(number): live at \(seq), but \(view.next) is expected next")
    }
    views[session]?.isLive = true
  }

  private func refused(_ event: Event) {
    guard let ref = event.integer("ref") else { return }
    let isTemporary = event.text.contains(#""retry":true"#)
    if let request = subscribing.removeValue(forKey: ref) {
      guard isTemporary else { return run.checker.fail("client \(number): \(event.text)") }
      let wait = event.integer("retry_after_ms") ?? 100
      let socket = socket
      run.agenda.after(milliseconds: wait) { [weak self] in
        guard let self, self.socket === socket, state == .open,
          own.contains(request.session) || visited == request.session
        else { return }
        subscribe(request.session, after: views[request.session].map { $0.next - 1 })
      }
      return
    }
    guard let pending = outbox.pending(ref) else { return }
    if isTemporary {
      let wait = event.integer("retry_after_ms") ?? 100
      let again = run.agenda.microseconds + Int64(max(1, wait)) * 1000
      outbox.failed(ref, until: again)
      run.agenda.after(milliseconds: wait + 1) { [weak self] in self?.pump() }
    } else {
      let code = event.string("code") ?? ""
      if code == "not_subscribed" {
        outbox.failed(ref, until: run.agenda.microseconds + 200_000)
        views[pending.session] = nil
      } else {
        run.checker.refused(pending, code: code, self)
        outbox.dropped(ref)
      }
    }
  }
}

/// A client's position in one session.
struct View {
  /// The expected seq.
  var next: Int64
  var epoch: String
  var isLive = false
  /// On the current connection.
  var isSubscribed = false
  /// The last read mark it has sent.
  var read: Int64 = 0
}

enum Body {
  static let poisonText = "poison "
  static let poison = Array(poisonText.utf8)
}
