import Testing

@testable import OpenSSL

/// Compact records are enabled only if they equal OpenSSL's.
@Suite("The self-test of compact records") struct TLSSelfTestTests {
  private func context(compact: Bool = true) throws -> TLSContext {
    try TLSContext(
      server: [TestCertificates.localhost], tickets: TLSTicketKeys(), compactRecords: compact)
  }

  @Test("our first records equal OpenSSL's, for each suite in both directions")
  func same() throws { try TLSSelfTest.run(try context()) }

  @Test(
    "one different bit fails it, with a message that contains the remedy",
    arguments: [
      "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
    ])
  func different(suite: String) throws {
    let context = try context()
    do throws(TLSSelfTestFailure) {
      try TLSSelfTest.run(context, suite: suite) { $0[$0.count - 1] ^= 1 }
      Issue.record("the self-test passed")
    } catch {
      #expect(error.description.contains(suite))
      #expect(error.description.contains("Set tls.compact_records to false"))
    }
  }

  @Test("the self-test fails without secrets")
  func secretless() throws {
    let context = try context(compact: false)
    #expect(throws: TLSSelfTestFailure.self) { try TLSSelfTest.run(context) }
  }
}
