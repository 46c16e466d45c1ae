import Foundation
import Kernel
import OpenSSL
import Primitives
import REST
import Settings
import Testing

@testable import Gateway

/// A self-signed certificate with separate files.
struct CertificateFiles {
  let chain: String
  let key: String

  init(_ name: String = "localhost") {
    let folder = NSTemporaryDirectory() + "chirrup-gateway-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: nil)
    chain = folder + "/chain.pem"
    key = folder + "/key.pem"
    make(name)
  }

  /// Writes another certificate into the same files.
  func make(_ name: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-keyout", key, "-out", chain, "-days", "30", "-subj", "/CN=\(name)", "-addext",
      "subjectAltName=DNS:\(name)",
    ]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return }
    process.waitUntilExit()
  }

  func use(_ settings: inout Settings) {
    settings.tls.listen = [ListenAddress(host: "127.0.0.1", port: 0)]
    settings.tls.certificates = [chain]
    settings.tls.keys = [key]
  }

  func client(_ maximum: TLSVersion = .v13) throws -> TLSContext {
    try TLSContext(clientVerifying: true, authority: chain, maximum: maximum)
  }
}

@Suite("The gateway over TLS", .serialized)
struct TLSTests {
  @Test(
    "a conversation crosses loops, over TLS and next to a plain listener",
    arguments: [TLSVersion.v13, .v12])
  func conversation(version: TLSVersion) async throws {
    let files = CertificateFiles()
    let gateway = try await RunningGateway(loops: 3) { files.use(&$0) }
    defer { gateway.stop() }
    let context = try files.client(version)
    let visits = try (0..<8).map { _ in try gateway.visitor() }
    let clerk = try SocketClient(port: gateway.port)
    try clerk.say(#"{"type":"hello","ref":1,"token":"\#(try gateway.operatorToken())"}"#)
    var visitors: [SocketClient] = []
    for visit in visits {
      let client = try SocketClient(port: gateway.securePort, tls: context)
      try client.say(
        #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
          + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
      visitors.append(client)
      try clerk.say(#"{"type":"subscribe","ref":2,"session":"\#(visit.session)","after":0}"#)
    }
    for client in visitors { _ = try client.hear(#""live""#) }
    _ = try clerk.hear(#""live""#, count: visits.count)
    let body = String(repeating: "long enough for a record of its own, ", count: 300)
    for (visit, client) in zip(visits, visitors) {
      for _ in 0..<5 {
        try client.say(
          #"{"type":"send","ref":3,"session":"\#(visit.session)","#
            + #""id":"\#(RunningGateway.makeID())","body":"\#(body)"}"#)
      }
    }
    for client in visitors {
      _ = try client.hear(#""ack""#, count: 5)
      _ = try client.hear(#""message""#, count: 5)
    }
    _ = try clerk.hear(#""message""#, count: 5 * visits.count)
  }

  @Test("a full socket loses nothing of what waits for it, whatever else happens meanwhile")
  func fullSocket() async throws {
    let files = CertificateFiles()
    let gateway = try await RunningGateway { files.use(&$0) }
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let count = 300
    try gateway.fill(visit.session, count: count)
    let clerk = try SocketClient(port: gateway.port)
    try clerk.say(
      #"{"type":"hello","ref":1,"token":"\#(try gateway.operatorToken())","#
        + #""subscribe":[{"session":"\#(visit.session)","tail":1}]}"#)
    _ = try clerk.hear(#""live""#)
    let visitor = try SocketClient(
      port: gateway.securePort, tls: try files.client(), receiveBuffer: 65_536)
    try visitor.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    // The first message arrives, and then nothing more is read until the clerk has stopped typing:
    // output for the visitor's connection that is no message of the log.
    _ = try visitor.hear(#""type":"message""#)
    // The pause keeps the thread: beside other tests a task may wait longer for one than the
    // heartbeat's timeout, and the visitor does not read.
    for turn in 0..<100 {
      try clerk.say(
        #"{"type":"typing","session":"\#(visit.session)","active":\#(turn % 2 == 0)}"#)
      usleep(5_000)
    }
    let heard = try visitor.hear(#""type":"message""#, count: count)
      .compactMap { $0.firstMatch(of: /"body":"(\d+)x/)?.1 }
    #expect(heard == (1...count).map { Substring("\($0)") })
  }

  @Test("a reload of certificates applies to new connections; a broken file changes nothing")
  func reload() async throws {
    let files = CertificateFiles("localhost")
    let gateway = try await RunningGateway { files.use(&$0) }
    defer { gateway.stop() }
    let first = try files.client()
    let early = try SocketClient(port: gateway.securePort, tls: first)
    files.make("renewed.test")
    let second = try files.client()
    await gateway.reload()
    #expect(await gateway.reload().refusal == nil)
    try await until {
      (try? SocketClient(port: gateway.securePort, tls: second, name: "renewed.test")) != nil
    }
    #expect(throws: SocketClient.Failure.self) {
      try SocketClient(port: gateway.securePort, tls: first)
    }
    try "broken".write(toFile: files.chain, atomically: true, encoding: .utf8)
    let report = await gateway.reload { $0.limits.connections = 7 }
    #expect(report.refusal?.contains("nothing was changed") == true)
    _ = try SocketClient(port: gateway.securePort, tls: second, name: "renewed.test")
    // The earlier connection stays open.
    try early.say("{}")
    _ = try early.hear("error")
  }

  @Test("plain HTTP on the TLS port gets 400; TLS on the plain port is refused; both without delay")
  func wrongPort() async throws {
    let files = CertificateFiles()
    let gateway = try await RunningGateway { files.use(&$0) }
    defer { gateway.stop() }
    let plain = try RawClient(port: gateway.securePort)
    try plain.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try plain.readToEnd().hasPrefix("HTTP/1.1 400 "))
    #expect(throws: SocketClient.Failure.self) {
      try SocketClient(port: gateway.port, tls: try files.client())
    }
    try await until { gateway.faults("plain HTTP on the TLS port") == 1 }
  }

  @Test("a flood of handshakes does not block other clients")
  func flood() async throws {
    let files = CertificateFiles()
    let gateway = try await RunningGateway { files.use(&$0) }
    defer { gateway.stop() }
    let context = try files.client()
    let established = try SocketClient(port: gateway.securePort, tls: context)
    // More simultaneous hellos than one iteration processes.
    let count = 4 * TLSDriver.handshakesPerTurn
    let workspace = TLSWorkspace()
    var sockets: [RawClient] = []
    for _ in 0..<count {
      let session = TLSSession(client: context, name: "localhost", workspace)
      let socket = try RawClient(port: gateway.securePort)
      try socket.send(
        session.withUnsent { span in
          var bytes: [UInt8] = []
          bytes.append(span)
          return bytes
        })
      sockets.append(socket)
    }
    try established.say("{}")
    _ = try established.hear("error")
    // Every client receives the first byte of a handshake record.
    for socket in sockets {
      while socket.heard.isEmpty, !socket.hasEnded { try socket.readMore() }
      #expect(socket.heard.first == 22)
    }
  }

  /// Polls, because a loop publishes its metrics and reads its mailbox asynchronously.
  private func until(_ condition: () -> Bool) async throws {
    for _ in 0..<6_000 {
      if condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the condition was not met within a minute")
  }
}
