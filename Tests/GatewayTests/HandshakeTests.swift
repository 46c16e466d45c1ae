import Foundation
import Kernel
import OpenSSL
import Primitives
import Settings
import Testing

@testable import Gateway

/// Incomplete TLS handshakes on real sockets (findings, security 3).
@Suite("TLS handshakes in progress", .serialized)
struct HandshakeTests {
  /// A client that sends its ClientHello, or only its first bytes, and then stays silent.
  private func stalled(
    _ gateway: RunningGateway, _ context: TLSContext, bytes most: Int = .max
  ) throws -> RawClient {
    let session = TLSSession(client: context, name: "localhost", TLSWorkspace())
    let client = try RawClient(port: gateway.securePort)
    try client.send(
      session.withUnsent { span in
        var bytes: [UInt8] = []
        bytes.append(span)
        return Array(bytes.prefix(most))
      })
    return client
  }

  private func start(
    _ change: @escaping (inout Settings) -> Void
  ) async throws -> (RunningGateway, TLSContext) {
    let files = CertificateFiles()
    let gateway = try await RunningGateway {
      files.use(&$0)
      $0.limits.exemptAddresses = []
      change(&$0)
    }
    return (gateway, try files.client())
  }

  @Test("an incomplete ClientHello takes no handshake place and no OpenSSL object")
  func halfOpen() async throws {
    let (gateway, context) = try await start { $0.limits.handshakes = 1 }
    defer { gateway.stop() }
    // No bytes, part of a record header, a record header, both headers, and part of the hello.
    var clients: [RawClient] = []
    for bytes in [0, 3, 5, 9, 100] {
      clients.append(try stalled(gateway, context, bytes: bytes))
    }
    for _ in 0..<3 {
      let client = try SocketClient(port: gateway.securePort, tls: context)
      try client.say("{}")
      _ = try client.hear("error")
    }
    withExtendedLifetime(clients) {}
    try await until { gateway.context.admission.handshakeCount == 0 }
  }

  @Test("a ClientHello in single bytes is answered, and the loop sleeps between the bytes")
  func singleBytes() async throws {
    let (gateway, context) = try await start { _ in }
    defer { gateway.stop() }
    var isAnswered = false
    for _ in 0..<Self.attempts where !isAnswered {
      isAnswered = try await answersSingleBytes(gateway, context)
    }
    #expect(isAnswered)
  }

  /// - Returns: whether the gateway answered; false if it ended the connection.
  private func answersSingleBytes(_ gateway: RunningGateway, _ context: TLSContext) async throws
    -> Bool
  {
    let session = TLSSession(client: context, name: "localhost", TLSWorkspace())
    let client = try RawClient(port: gateway.securePort)
    let hello = session.withUnsent { span in
      var bytes: [UInt8] = []
      bytes.append(span)
      return bytes
    }
    try client.send(Array(hello.dropLast()))
    try await until { gateway.context.metrics.read()[0].sockets > 0 }
    // Peeked bytes stay readable. A loop that polled for them would run about 100,000 iterations.
    let before = gateway.context.metrics.read()[0].iterations
    try await Task.sleep(for: .milliseconds(1_500))
    #expect(gateway.context.metrics.read()[0].iterations - before < 10_000)
    try client.send([hello[hello.count - 1]])
    while client.heard.isEmpty, !client.hasEnded { try client.readMore() }
    return client.heard.first == 22
  }

  /// A waiting hello has ten seconds, and the holder of a place has three. A stall of the machine
  /// can exceed both, so the tests retry.
  private static let attempts = 10

  @Test(
    "above the total limit or the limit per address, a hello waits until another handshake ends",
    arguments: [true, false])
  func waiting(perAddress: Bool) async throws {
    let (gateway, context) = try await start {
      if perAddress { $0.limits.handshakesPerAddress = 2 } else { $0.limits.handshakes = 2 }
    }
    defer { gateway.stop() }
    var (most, hasWaited) = (0, false)
    for _ in 0..<Self.attempts where !hasWaited {
      let crowd = try (0..<20).map { _ in try stalled(gateway, context) }
      for _ in 0..<500 where !hasWaited {
        most = max(most, gateway.context.admission.handshakeCount)
        hasWaited = gateway.context.metrics.read()[0].handshakes.waiting > 0
        try await Task.sleep(for: .milliseconds(10))
      }
      withExtendedLifetime(crowd) {}
    }
    #expect(hasWaited)
    #expect(most <= 2)
    // The other clients are disconnected, so their places are free.
    try await until { gateway.context.admission.handshakeCount == 0 }
    let client = try SocketClient(port: gateway.securePort, tls: context)
    try client.say("{}")
    _ = try client.hear("error")
  }

  @Test("while others wait, a silent client loses its place before its deadline")
  func patience() async throws {
    let (gateway, context) = try await start { $0.limits.handshakes = 1 }
    defer { gateway.stop() }
    for _ in 0..<Self.attempts {
      let holder = try stalled(gateway, context)
      while holder.heard.isEmpty, !holder.hasEnded { try holder.readMore() }
      let other = try stalled(gateway, context)
      while other.heard.isEmpty, !other.hasEnded { try other.readMore() }
      // The holder did not disconnect: the gateway revoked its place.
      if other.heard.first == 22 {
        while !holder.hasEnded { try holder.readMore() }
        return
      }
    }
    Issue.record("no other connection had a turn")
  }

  @Test("a failed, completed or aborted handshake frees its place")
  func places() async throws {
    let (gateway, context) = try await start { $0.limits.handshakes = 1 }
    defer { gateway.stop() }
    let wrong = try TLSContext(clientVerifying: false, protocols: ["h2"])
    for _ in 0..<3 {
      #expect(throws: SocketClient.Failure.self) {
        try SocketClient(port: gateway.securePort, tls: wrong)
      }
      let cut = try stalled(gateway, context)
      while cut.heard.isEmpty, !cut.hasEnded { try cut.readMore() }
    }
    let plain = try RawClient(port: gateway.securePort)
    try plain.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try plain.readToEnd().hasPrefix("HTTP/1.1 400 "))
    let client = try SocketClient(port: gateway.securePort, tls: context)
    try client.say("{}")
    _ = try client.hear("error")
    try await until { gateway.context.admission.handshakeCount == 0 }
  }

  /// Polls, because a loop publishes its metrics asynchronously.
  private func until(_ condition: () -> Bool) async throws {
    for _ in 0..<6_000 {
      if condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the condition was not met within a minute")
  }
}
