import Foundation
import Testing

@testable import OpenSSL

@Suite("Certificates and names")
struct TLSCertificateTests {
  private func refusal(_ chain: String, _ key: String) -> String? {
    do throws(TLSLoadFailure) {
      _ = try TLSContext(
        server: [TLSCertificateFiles(chain: chain, key: key)], tickets: TLSTicketKeys())
      return nil
    } catch {
      return error.description
    }
  }

  @Test("invalid certificates are refused with a message")
  func refusals() throws {
    let good = TestCertificates.localhost
    let other = TestCertificates.chat
    let nothing = TestCertificates.write("nothing", as: "nothing.pem")
    let missing = TestCertificates.folder + "/missing.pem"
    #expect(refusal(good.chain, good.key) == nil)
    #expect(
      refusal(missing, good.key)
        == "the certificate \(missing) cannot be read: No such file or directory")
    #expect(
      refusal(good.chain, missing) == "the key \(missing) cannot be read: No such file or directory"
    )
    #expect(
      refusal(nothing, good.key)
        == "the certificate \(nothing) cannot be read: no start line; a PEM chain is expected")
    #expect(refusal(good.chain, nothing)?.hasPrefix("the key \(nothing) cannot be read") == true)
    #expect(
      refusal(good.chain, other.key)
        == "the key \(other.key) does not belong to the certificate \(good.chain)")
  }

  @Test("an expired certificate is refused")
  func dates() {
    let expired = TestCertificates.make("expired", names: ["localhost"], isExpired: true)
    #expect(
      refusal(expired.chain, expired.key) == "the certificate \(expired.chain) has expired")
  }

  @Test("a key with a passphrase is refused without a prompt")
  func passphrase() {
    let good = TestCertificates.localhost
    let locked = TestCertificates.folder + "/locked.key"
    TestCertificates.run([
      "pkey", "-in", good.key, "-aes256", "-passout", "pass:secret", "-out", locked,
    ])
    TestCertificates.protect(locked)
    #expect(
      refusal(good.chain, locked)?.hasSuffix("a PEM key without a passphrase is expected") == true)
  }

  @Test("a key that other users can read causes a warning")
  func permissions() throws {
    let files = TestCertificates.make("open", names: ["localhost"])
    TestCertificates.protect(files.key, 0o644)
    let context = try TLSContext(server: [files], tickets: TLSTicketKeys())
    #expect(context.warnings.count == 1)
    #expect(context.warnings.first?.contains("is readable by other users (mode 644)") == true)
    let quiet = try TLSContext(server: [TestCertificates.localhost], tickets: TLSTicketKeys())
    #expect(quiet.warnings.isEmpty)
  }

  @Test("exact names precede wildcards, and a wildcard matches one label")
  func names() {
    var names = TLSNames()
    names.add(["a.test", "*.b.test", "a.test"], certificate: 0)
    names.add(["A.test", "x.b.test", "*.c.test"], certificate: 1)
    #expect(names.certificate(for: "a.test") == 0)
    #expect(names.certificate(for: "A.TEST.") == 0)
    #expect(names.certificate(for: "x.b.test") == 1)
    #expect(names.certificate(for: "y.b.test") == 0)
    #expect(names.certificate(for: "y.x.b.test") == nil)
    #expect(names.certificate(for: "b.test") == nil)
    #expect(names.certificate(for: ".b.test") == nil)
    #expect(names.certificate(for: "") == nil)
    #expect(names.certificate(for: ".") == nil)
  }
}
