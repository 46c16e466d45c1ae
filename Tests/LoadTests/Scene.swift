import Primitives
import Testing

@testable import chirrup_load

/// A visitor's client with its records and a clock, and lines of a gateway.
struct Scene {
  static let session = Identifier(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0001)
  static let welcome =
    "{\"type\":\"welcome\",\"ref\":268435456,\"limits\":{\"body_bytes\":16384,\"in_flight\":16},"
    + "\"heartbeat\":{\"interval_ms\":25000,\"timeout_ms\":10000}}"

  /// The due time of every message in a scene.
  static let origin = Instant(nanoseconds: 5_000_000_000)

  var client: Client
  var measured: Measurements
  var now = Scene.origin
  private(set) var lastAction = Client.Action.none
  private(set) var lastText = ""
  private(set) var lastRefs: [Int] = []

  init() {
    measured = Measurements(
      stamp: Stamp(nonce: 7, wall: WallTime(microseconds: 1_800_000_000_000_000), now: now),
      bodies: Bodies(byteCount: 120), random: RandomStream(seed: 1),
      ledger: Ledger(sessions: [Scene.session]))
    client = Client(
      number: 3, role: .visitor, token: "t", sessions: [(log: 0, id: Scene.session)],
      backoffMaxMilliseconds: 5000)
  }

  /// Subscribed to an empty session.
  static func live(inFlight: Int = 16) -> Scene {
    var scene = Scene()
    _ = scene.open()
    _ = scene.receive(
      welcome.replacing("\"in_flight\":16", with: "\"in_flight\":\(inFlight)"))
    _ = scene.receive(scene.subscribed(from: 1, head: 0))
    _ = scene.receive(scene.live(0))
    return scene
  }

  mutating func open() -> [String] {
    client.connecting(now: now)
    var output = CommandBuffer()
    client.opened(now: now, &output)
    return take(output)
  }

  mutating func lose(code: UInt16?) {
    client.closed(code: code, label: "test", now: now, &measured)
  }

  /// The types of the client's answers to a message of the gateway.
  mutating func receive(_ text: String) -> [String] {
    var output = CommandBuffer()
    Array(text.utf8).withRawSpan { span in
      var cursor = JSONCursor()
      while cursor.skipBlanks(span) {
        guard let event = try? ServerEvent(span, &cursor) else {
          Issue.record("not JSON: \(text)")
          return
        }
        lastAction = client.receive(event, span, now: now, &measured, &output)
      }
    }
    return take(output)
  }

  mutating func compose() -> [String] {
    var output = CommandBuffer()
    client.compose(subscription: 0, due: Scene.origin, &measured, &output)
    return take(output)
  }

  mutating func tick() -> [String] {
    var output = CommandBuffer()
    lastAction = client.tick(now: now, &measured, &output)
    return take(output)
  }

  mutating func tickAction() -> Client.Action {
    _ = tick()
    return lastAction
  }

  mutating func finish() -> Violations {
    let made = client.outbox.made
    measured.ledger.close(stamp: measured.stamp) { $0 == 3 ? made : 0 }
    return measured.ledger.violations
  }

  // MARK: The gateway's lines

  func id(_ number: Int) -> Identifier {
    measured.stamp.identifier(due: Scene.origin, client: 3, number: number)
  }

  func subscribed(from: Int, head: Int) -> String {
    "{\"type\":\"subscribed\",\"ref\":268435457,\"session\":\"\(Scene.session)\",\"epoch\":\"e1\","
      + "\"head\":\(head),\"from\":\(from),\"status\":\"waiting\",\"assignee\":null,\"marks\":[],"
      + "\"can\":[\"send\"]}"
  }

  func live(_ seq: Int) -> String {
    "{\"type\":\"live\",\"session\":\"\(Scene.session)\",\"seq\":\(seq)}"
  }

  func ack(_ number: Int, seq: Int, duplicate: Bool = false) -> String {
    "{\"type\":\"ack\",\"ref\":\(number),\"session\":\"\(Scene.session)\",\"id\":\"\(id(number))\","
      + "\"seq\":\(seq),\"at\":\"2026-11-21T14:03:07.042Z\""
      + "\(duplicate ? ",\"duplicate\":true" : "")}"
  }

  func error(_ ref: Int, _ code: String, retry: Bool = true, retryAfter: Int = 0) -> String {
    "{\"type\":\"error\",\"ref\":\(ref),\"code\":\"\(code)\",\"message\":\"…\",\"retry\":\(retry),"
      + "\"retry_after_ms\":\(retryAfter)}"
  }

  func message(_ number: Int, seq: Int, body: String? = nil) -> String {
    let id = id(number)
    let text = body ?? String(decoding: measured.bodies.body(of: id), as: UTF8.self)
    let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      .replacing("\n", with: "\\u000a").replacing("\t", with: "\\t")
    return "{\"type\":\"message\",\"session\":\"\(Scene.session)\",\"seq\":\(seq),\"id\":\"\(id)\","
      + "\"sender\":{\"kind\":\"visitor\",\"id\":\"\(Scene.session)\",\"name\":\"Guest\"},"
      + "\"kind\":\"text\",\"body\":\"\(escaped)\",\"at\":\"2026-11-21T14:03:07.042Z\"}"
  }

  /// A message from before the run.
  func foreign(seq: Int) -> String {
    "{\"type\":\"message\",\"session\":\"\(Scene.session)\",\"seq\":\(seq),"
      + "\"id\":\"01900000-0000-7000-8000-00000000000\(seq)\",\"body\":\"hello\"}"
  }

  private mutating func take(_ output: CommandBuffer) -> [String] {
    var types: [String] = []
    var start = 0
    lastRefs = []
    for end in output.ends {
      lastText = String(decoding: output.bytes[start..<end], as: UTF8.self)
      types.append(String(lastText.dropFirst(9).prefix { $0 != "\"" }))
      output.bytes[start..<end].withRefDigits { lastRefs.append($0) }
      start = end
    }
    return types
  }
}

extension ArraySlice<UInt8> {
  /// The number after `"ref":`.
  fileprivate func withRefDigits(_ body: (Int) -> Void) {
    let text = String(decoding: self, as: UTF8.self)
    guard let range = text.firstRange(of: "\"ref\":") else { return }
    if let number = Int(text[range.upperBound...].prefix { $0.isNumber }) { body(number) }
  }
}
