/// Descriptors that run out (faults N02): the loop neither spins nor ends, conversations go on, and
/// whoever knocked is let in when there are descriptors again.
import Kernel
import Primitives
import Testing

@testable import Gateway

@Suite("Descriptors that run out")
struct ExhaustionTests {
  @Test("existing connections live, and new ones are taken when descriptors return (N02)")
  func descriptors() async {
    // In a process of its own, since the limit is the process's.
    await #expect(processExitsWith: .success) {
      let gateway = try await RunningGateway()
      // The token first: who has connected must say hello within 10 seconds.
      let token = try gateway.operatorToken()
      let client = try SocketClient(port: gateway.port)
      try client.say(#"{"type":"hello","ref":1,"token":"\#(token)"}"#)
      _ = try client.hear(#""welcome""#)
      let limit = DescriptorLimit.current
      // Two descriptors are left: the knocking client's epoll and its socket.
      let next = try Epoll.lowestFreeDescriptor()
      try DescriptorLimit.lower(to: Int(next) + 2)
      let knocking = try RawClient(port: gateway.port)
      try knocking.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      let (before, begin) = (gateway.iterations, SystemClock.now())
      var elapsed: Int64 = 0
      repeat {
        #expect(try knocking.isSilent(forMilliseconds: 500))
        elapsed = SystemClock.now().milliseconds(since: begin)
        // A busy machine may be late with the second one.
      } while (gateway.faults["connect: no descriptors or memory left"] ?? 0) < 2
        && elapsed < 60_000 || elapsed < 2_000
      #expect((gateway.faults["connect: no descriptors or memory left"] ?? 0) >= 2)
      #expect(Int64(gateway.iterations - before) < 50 + elapsed / 20, "the loop spins")
      try client.say(#"{"type":"watch","ref":2,"inbox":true}"#)
      _ = try client.hear(#""ok""#)
      try DescriptorLimit.lower(to: limit)
      try knocking.read(until: "ok\n")
      gateway.stop()
    }
  }
}

extension Epoll {
  /// The number that the kernel gives next.
  fileprivate static func lowestFreeDescriptor() throws -> Int32 {
    try Sockets.pair().first.rawValue
  }
}
