import Testing

@testable import OpenSSL

/// Compact records start only where they are OpenSSL's, byte for byte (findings, security 9).
@Suite("The self-test of compact records") struct TLSSelfTestTests {
  private func context(compact: Bool = true) throws -> TLSContext {
    try TLSContext(
      server: [TestCertificates.localhost], tickets: TLSTicketKeys(), compactRecords: compact)
  }

  @Test("our first records are OpenSSL's, in each suite and both directions")
  func same() throws { try TLSSelfTest.run(try context()) }

  @Test(
    "one bit that differs fails it, in words that say what to do",
    arguments: [
      "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
    ])
  func different(suite: String) throws {
    let context = try context()
    do throws(TLSSelfTestFailure) {
      try TLSSelfTest.run(context, suite: suite) { $0[$0.count - 1] ^= 1 }
      Issue.record("it passed")
    } catch {
      #expect(error.description.contains(suite))
      #expect(error.description.contains("Set tls.compact_records to false"))
    }
  }

  @Test("without secrets there is nothing to compare, and it fails")
  func secretless() throws {
    let context = try context(compact: false)
    #expect(throws: TLSSelfTestFailure.self) { try TLSSelfTest.run(context) }
  }
}
