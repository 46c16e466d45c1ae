import Primitives
import Testing

@testable import OpenSSL

/// The check of a connection's first bytes before OpenSSL's object is created.
@Suite("The ClientHello before TLS") struct TLSHelloTests {
  private func look(_ bytes: [UInt8]) -> TLSHello {
    Array(bytes.prefix(TLSHello.byteCountMax)).withRawSpan { TLSHello($0) }
  }

  private func makeHello() throws -> [UInt8] {
    let workspace = TLSWorkspace()
    let session = TLSSession(
      client: try TLSContext(clientVerifying: false), name: "localhost", workspace)
    return session.withUnsent { span in
      var bytes: [UInt8] = []
      bytes.append(span)
      return bytes
    }
  }

  /// The same message in records of this size.
  private func inRecords(of size: Int, _ hello: [UInt8]) -> [UInt8] {
    let message = Array(hello.dropFirst(5))
    return stride(from: 0, to: message.count, by: size).flatMap { start in
      let part = message[start..<min(message.count, start + size)]
      return [22, 3, 1, UInt8(part.count >> 8), UInt8(part.count & 255)] + part
    }
  }

  @Test("a hello is complete with its last byte and not before, in one record or many (§5.1)")
  func whole() throws {
    let hello = try makeHello()
    for bytes in [hello, inRecords(of: 100, hello), inRecords(of: 1, hello)] {
      for count in 0..<bytes.count {
        #expect(look(Array(bytes.prefix(count))) == .incomplete, "\(count) of \(bytes.count)")
      }
      #expect(look(bytes) == .whole)
      #expect(look(bytes + [1, 2, 3]) == .whole, "the bytes after the hello are ignored")
    }
  }

  @Test(
    "bytes that cannot become a hello are refused at the first wrong byte, with an alert",
    arguments: [
      (Array("GET / HTTP/1.1".utf8), .broken(.plainHTTP, alert: nil)),
      (Array("OPTIONS * HT".utf8), .broken(.plainHTTP, alert: nil)),
      (Array("SSH-2.0".utf8), .broken(.notTLS, alert: nil)),
      ([0, 0, 0, 0, 0], .broken(.notTLS, alert: nil)),
      // SSL 2 (RFC 6176), another version, no type of TLS.
      ([0x80, 0x2E, 1, 0, 2], .broken(.notTLS, alert: nil)),
      ([22, 2, 0, 0, 5], .broken(.notTLS, alert: nil)),
      ([99, 3, 1, 0, 5], .broken(.notTLS, alert: nil)),
      // An alert, data, a change_cipher_spec; an empty record, one that is too long.
      ([21, 3, 1, 0, 2], .broken(.unexpectedMessage, alert: 10)),
      ([23, 3, 3, 0, 5], .broken(.unexpectedMessage, alert: 10)),
      ([20, 3, 3, 0, 1], .broken(.unexpectedMessage, alert: 10)),
      ([22, 3, 1, 0, 0], .broken(.unexpectedMessage, alert: 10)),
      ([22, 3, 1, 0x40, 1], .broken(.recordTooLong, alert: 22)),
      // Another message, a message of 16 MiB, its header split over two records.
      ([22, 3, 1, 0, 9, 2], .broken(.unexpectedMessage, alert: 10)),
      ([22, 3, 1, 0, 9, 1, 0xFF, 0xFF, 0xFF], .broken(.malformed, alert: 47)),
      ([22, 3, 1, 0, 2, 1, 0xFF, 22, 3, 1, 0, 9, 0, 1], .broken(.malformed, alert: 47)),
      // The second record is malformed.
      ([22, 3, 1, 0, 1, 1, 23, 3, 1, 0, 5], .broken(.unexpectedMessage, alert: 10)),
      ([22, 3, 1, 0, 1, 1, 0, 0, 0, 0, 0], .broken(.notTLS, alert: nil)),
    ] as [([UInt8], TLSHello)])
  func broken(bytes: [UInt8], expected: TLSHello) {
    #expect(look(bytes) == expected)
    #expect(look(bytes + [UInt8](repeating: 0, count: 300)) == expected)
  }

  @Test("the length of a hello is limited, independently of its records")
  func limit() {
    let most: [UInt8] = [22, 3, 1, 0x40, 0, 1, 0, 0x40, 0]
    #expect(look(most) == .incomplete)
    #expect(look(most + [UInt8](repeating: 0, count: 16_380)) == .incomplete)
    let all = most + [UInt8](repeating: 0, count: 16_380) + [22, 3, 1, 0, 4, 0, 0, 0, 0]
    #expect(look(all) == .whole)
    #expect(look([22, 3, 1, 0, 4, 1, 0, 0x40, 1]) == .broken(.malformed, alert: 47))
    // 16 KiB in records of one byte are 96 KiB.
    let slow = inRecords(
      of: 1, [0, 0, 0, 0, 0, 1, 0, 0x40, 0] + [UInt8](repeating: 0, count: 16_384))
    #expect(look(Array(slow.prefix(TLSHello.byteCountMax - 1))) == .incomplete)
    #expect(look(slow) == .broken(.malformed, alert: 50))
  }

  @Test("OpenSSL answers or refuses complete hellos, and never waits for more")
  func answered() throws {
    let context = try TLSContext(
      server: [TestCertificates.localhost], tickets: TLSTicketKeys())
    var random = SystemRandomNumberGenerator()
    var wholes = 0
    for round in 0..<400 {
      var bytes = inRecords(of: Int.random(in: 40...600, using: &random), try makeHello())
      for _ in 0..<(round % 4) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      guard look(bytes) == .whole else { continue }
      wholes += 1
      let end = TLSPair.End(TLSSession(server: context), TLSWorkspace())
      end.receive(bytes[...])
      #expect(end.fault != nil || end.hasUnsent, "the session waits: \(bytes)")
    }
    #expect(wholes > 100)
  }
}
