/// Live traces of real connections: names, sizes, ids and codes, and never a text or a token.
import Compression
import Kernel
import Primitives
import REST
import Settings
import Testing
import Tokens
import Wire

@testable import Gateway

@Suite("Live traces", .serialized)
struct LiveTraceTests {
  private struct Failure: Error { var text: String }

  private func ask(
    _ method: String, _ path: String, _ token: String, _ port: UInt16
  ) throws -> String {
    let client = try RawClient(port: port)
    try client.send(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
        + "Content-Length: 0\r\nConnection: close\r\n\r\n")
    return try client.readToEnd()
  }

  private let admin = "/api/v1/admin"

  private func connect(_ gateway: RunningGateway) throws -> (SocketClient, Identifier, String) {
    let (session, token) = try gateway.visitor()
    return (try connect(gateway, session, token), session, token)
  }

  private func connect(
    _ gateway: RunningGateway, _ session: Identifier, _ token: String
  ) throws -> SocketClient {
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":"h","token":"\#(token)","#
        + #""subscribe":[{"session":"\#(session)","tail":3,"ref":"s"}]}"#)
    _ = try client.hear(#""live""#)
    return client
  }

  private func send(_ client: SocketClient, _ session: Identifier, _ body: String) throws {
    try client.say(
      #"{"type":"send","ref":"secret ref","session":"\#(session)","#
        + #""id":"\#(RunningGateway.makeID())","body":"\#(body)"}"#)
  }

  private func started(_ answer: String) throws -> String {
    guard answer.hasPrefix("HTTP/1.1 201"),
      let id = answer.firstMatch(of: /"trace":\{"id":"([0-9a-f-]{36})"/)
    else { throw Failure(text: answer) }
    return String(id.1)
  }

  /// The lines of a trace until one contains `part`; at most half a minute of waiting.
  private func lines(
    _ path: String, _ token: String, _ port: UInt16, until part: String
  ) throws -> [String] {
    var (found, position): ([String], Substring) = ([], "0")
    for _ in 0..<30 {
      let answer = try ask("GET", "\(path)?after=\(position)", token, port)
      guard answer.hasPrefix("HTTP/1.1 200"),
        let next = answer.firstMatch(of: /"position":(\d+)/)
      else { throw Failure(text: answer) }
      position = next.1
      found += answer.matches(of: /\{"n":[^}]*\}/).map { String($0.0) }
      if answer.contains(part) { return found }
    }
    throw Failure(text: "no line with \(part) in \(found)")
  }

  @Test("a connection's commands, events and end are lines; no text, no token, no reference")
  func connection() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(loops: 2, log: book)
    defer { gateway.stop() }
    let token = try gateway.operatorToken()
    let (client, session, secret) = try connect(gateway)
    let list = try ask("GET", "\(admin)/connections?session=\(session)", token, gateway.port)
    let id = try #require(list.firstMatch(of: /"id":"([0-9a-f-]{36})"/)).1
    let trace = try started(
      ask("POST", "\(admin)/connections/\(id)/trace", token, gateway.port))
    try send(client, session, "secret words")
    _ = try client.hear(#""type":"ack""#)
    try client.say(#"{"type":"secret type","session":"\#(session)"}"#)
    _ = try client.hear("unknown_type")
    try client.say("secret garbage")
    _ = try client.hear("bad_frame")
    let path = "\(admin)/connection-traces/\(trace)"
    let seen = try lines(path, token, gateway.port, until: #""code":"bad_frame""#)
    for part in [
      #""kind":"received","frame":"text","#, #""type":"send","session":"\#(session)","seq":null"#,
      #""type":"unknown""#, #""type":"unreadable""#, #""type":"error""#,
      #""code":"unknown_type""#, #""kind":"sent","frame":"text""#,
      #""type":"ack","session":"\#(session)","seq":1,"#,
      #""type":"message","session":"\#(session)","seq":1,"#,
    ] {
      #expect(seen.contains { $0.contains(part) }, "\(part) in \(seen)")
    }
    let kick = try ask("POST", "\(admin)/connections/\(id)/disconnect", token, gateway.port)
    #expect(kick.hasPrefix("HTTP/1.1 204"))
    let end = try lines(path, token, gateway.port, until: #""ended":"the connection ended""#)
    #expect(end.contains { $0.contains(#""frame":"close""#) && $0.contains(#""code":"4003""#) })
    #expect(end.contains { $0.contains(#""kind":"ended""#) && $0.contains("(kick)") })
    for line in seen + end {
      #expect(!line.contains("secret") && !line.contains(secret) && !line.contains("Ada"))
    }
    let audit = try ask("GET", "\(admin)/audit-log", token, gateway.port)
    #expect(audit.contains("connection.traced") && audit.contains(id))
    #expect(!book.lines(with: "connection.traced").isEmpty)
    let again = try ask("POST", "\(admin)/connections/\(id)/trace", token, gateway.port)
    #expect(again.hasPrefix("HTTP/1.1 409"), "it has ended")
  }

  @Test("a visitor's trace follows from connection to connection, also over loops")
  func visitor() async throws {
    let gateway = try await RunningGateway(loops: 3)
    defer { gateway.stop() }
    let token = try gateway.operatorToken()
    let (session, secret) = try gateway.visitor()
    let visitor = try gateway.owner(of: session)
    var trace = ""
    do {
      let first = try connect(gateway, session, secret)
      trace = try started(
        ask("POST", "\(admin)/connections/\(visitor)/trace", token, gateway.port))
      try send(first, session, "one")
      _ = try first.hear(#""type":"ack""#)
    }
    let path = "\(admin)/connection-traces/\(trace)"
    let before = try lines(path, token, gateway.port, until: #""kind":"ended""#)
    #expect(before.contains { $0.contains(#""type":"ack""#) })
    let second = try connect(gateway, session, secret)
    try send(second, session, "two")
    _ = try second.hear(#""seq":2"#)
    let after = try lines(path, token, gateway.port, until: #""type":"ack""#)
    let kinds = after.compactMap { $0.firstMatch(of: /"kind":"(\w+)"/)?.1 }
    #expect(kinds.contains("opened"))
    for type in ["welcome", "subscribed", "send", "ack"] {
      #expect(after.contains { $0.contains(#""type":"\#(type)""#) }, "\(type) in \(after)")
    }
    #expect(
      try ask("DELETE", path, token, gateway.port).hasPrefix("HTTP/1.1 204"))
    _ = try lines(path, token, gateway.port, until: #""ended":"it was ended""#)
    try send(second, session, "three")
    _ = try second.hear(#""seq":3"#)
    let late = try ask("GET", path + "?after=0", token, gateway.port)
    #expect(!late.contains(#""seq":3"#), "nothing is added after the end")
  }

  @Test("an unknown id, an agent and another workspace start and read no trace; two run at once")
  func walls() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let stranger = try await RunningGateway(migrates: true)
    defer { stranger.stop() }
    let (token, other) = (try gateway.operatorToken(), try stranger.operatorToken())
    let (client, session, _) = try connect(gateway)
    let visitor = try gateway.owner(of: session)
    let start = "\(admin)/connections/\(visitor)/trace"
    #expect(try ask("POST", start, other, gateway.port).hasPrefix("HTTP/1.1 404"))
    #expect(
      try ask("POST", "\(admin)/connections/\(session)/trace", token, gateway.port)
        .hasPrefix("HTTP/1.1 404"), "no connection, visitor or operator")
    let first = try started(ask("POST", start, token, gateway.port))
    let path = "\(admin)/connection-traces/\(first)"
    #expect(try ask("GET", path, other, gateway.port).hasPrefix("HTTP/1.1 404"))
    #expect(try ask("DELETE", path, other, gateway.port).hasPrefix("HTTP/1.1 404"))
    let second = try started(ask("POST", start, token, gateway.port))
    let third = try ask("POST", start, token, gateway.port)
    #expect(third.hasPrefix("HTTP/1.1 409") && third.contains("too_many_traces"))
    try send(client, session, "for both")
    for trace in [first, second] {
      _ = try lines(
        "\(admin)/connection-traces/\(trace)", token, gateway.port, until: #""type":"ack""#)
    }
  }

  @Test("the operator of the instance traces at the admin listener, with the instance's token only")
  func instance() async throws {
    let gateway = try await RunningGateway(loops: 2) {
      $0.adminListen = [ListenAddress(host: "127.0.0.1", port: 0)]
    }
    defer { gateway.stop() }
    let token = try gateway.tokens.issueForInstance(now: SystemClock.wallTime())
    let (client, session, _) = try connect(gateway)
    let visitor = try gateway.owner(of: session)
    let start = "/connections/\(visitor)/trace"
    let wrong = try ask("POST", start, try gateway.operatorToken(), gateway.adminPort)
    #expect(wrong.hasPrefix("HTTP/1.1 401"))
    #expect(try ask("POST", start, token, gateway.port).hasPrefix("HTTP/1.1 404"))
    let trace = try started(ask("POST", start, token, gateway.adminPort))
    try send(client, session, "hello")
    let path = "/connections/traces/\(trace)"
    _ = try lines(path, token, gateway.adminPort, until: #""type":"ack""#)
    let admin = try ask(
      "GET", "\(admin)/connection-traces/\(trace)", try gateway.operatorToken(), gateway.port)
    #expect(admin.hasPrefix("HTTP/1.1 404"), "it is not a trace of the workspace")
    #expect(try ask("DELETE", path, token, gateway.adminPort).hasPrefix("HTTP/1.1 204"))
    #expect(try ask("PUT", path, token, gateway.adminPort).hasPrefix("HTTP/1.1 405"))
  }

  // MARK: Frames

  private let name = Identifier(high: 1, low: 1)

  private func outputLines(_ bytes: [UInt8], inPiecesOf size: Int) -> [TraceLine] {
    var frames = TraceFrames(outputDeflated: true)
    return stride(from: 0, to: bytes.count, by: size).flatMap {
      frames.lines(
        of: bytes[$0..<min($0 + size, bytes.count)], name, at: WallTime(microseconds: 0))
    }
  }

  @Test("output in pieces of any size: plain and deflated events, control frames, and a close")
  func output() throws {
    let text = Array(#"{"type":"message","session":"\#(name)","seq":7,"body":"secret"}"#.utf8)
    var bytes: [UInt8] = []
    text.withRawSpan { FrameEncoder.appendFrame(.text, payload: $0, to: &bytes) }
    var deflater = Deflater(level: 1, windowBits: 15, memoryLevel: 5)
    var packed: [UInt8] = []
    text.withRawSpan { deflater.deflate($0, keepsContext: false, to: &packed) }
    packed.withRawSpan { FrameEncoder.appendDeflatedFrame(.text, payload: $0, to: &bytes) }
    // Without the earlier message, whose context it needs.
    var other = Deflater(level: 1, windowBits: 15, memoryLevel: 5)
    var unused: [UInt8] = []
    var dependent: [UInt8] = []
    text.withRawSpan { other.deflate($0, keepsContext: true, to: &unused) }
    text.withRawSpan { other.deflate($0, keepsContext: true, to: &dependent) }
    dependent.withRawSpan { FrameEncoder.appendDeflatedFrame(.text, payload: $0, to: &bytes) }
    [1, 2, 3].withRawSpan { FrameEncoder.appendFrame(.ping, payload: $0, to: &bytes) }
    FrameEncoder.appendClose(.goingAway, reason: "secret", to: &bytes)
    for size in [1, 2, 7, 64, bytes.count] {
      let lines = outputLines(bytes, inPiecesOf: size)
      try #require(lines.count == 5, "\(size)")
      #expect(lines.map(\.frame) == ["text", "text", "text", "ping", "close"])
      #expect(lines.map(\.isDeflated) == [false, true, true, false, false])
      for line in lines[..<2] {
        #expect(line.type == "message" && line.seq == 7 && line.session == name)
        #expect(line.bytes == text.count)
      }
      #expect(lines[2].type == nil && lines[2].bytes == dependent.count)
      #expect(lines[3].bytes == 3 && lines[4].code == "1001")
    }
  }

  @Test("a message of many commands is a limited number of lines")
  func commands() {
    var frames = TraceFrames(
      input: MessageDecoder(role: .server, limits: MessageLimits(messageBytes: 10, fragments: 1)))
    var bytes: [UInt8] = []
    let text = Array(String(repeating: #"{"type":"pong"}"# + "\n", count: 100).utf8)
    text.withRawSpan {
      FrameEncoder.appendMaskedFrame(.text, payload: $0, maskKey: 0x0102_0304, to: &bytes)
    }
    let lines = frames.lines(of: bytes, name, at: WallTime(microseconds: 0))
    #expect(lines.count == TraceFrames.commandsMax + 1)
    #expect(lines.dropLast().allSatisfy { $0.type == "pong" && $0.bytes == 15 })
    #expect(lines.last?.type == "more" && lines.last?.bytes == text.count - 16 * 16 + 1)
  }
}
