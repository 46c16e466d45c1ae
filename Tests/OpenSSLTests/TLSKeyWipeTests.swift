import Primitives
import Testing

@testable import OpenSSL

/// Old keys are overwritten after a key update and after the end of a connection.
@Suite("Overwriting of old keys") struct TLSKeyWipeTests {
  /// A block of zeros, encrypted with a key and a nonce of zeros: test case 2 of the GCM
  /// specification.
  private static let zeroKey: [UInt8] = [
    0x03, 0x88, 0xDA, 0xCE, 0x60, 0xB6, 0xA3, 0x92, 0xF3, 0x28, 0xC2, 0xB9, 0x71, 0xB2, 0xFE, 0x78,
  ]
  private let secret = [UInt8](repeating: 7, count: 32)

  @Test("the context of a closed connection has a key of zeros", arguments: [true, false])
  func end(seals: Bool) {
    let aead = TLSAEAD()
    var traffic = TLSTraffic(.aes128, secret: secret)
    aead.use(.aes128, &traffic, seals: seals)
    let before = aead.fingerprints(.aes128, seals: seals)
    #expect(before.count == 1 && before[0] != Self.zeroKey)
    aead.forget(.aes128, traffic, seals: seals)
    #expect(aead.fingerprints(.aes128, seals: seals) == [Self.zeroKey])
  }

  @Test("after a key update no context has the old key, in either direction")
  func update() {
    let aead = TLSAEAD()
    let other = [UInt8](repeating: 9, count: 32)
    let ours = TLSRecords(suite: .aes128, readSecret: secret, writeSecret: other, written: 0)
    let theirs = TLSRecords(
      suite: .aes128, readSecret: other, writeSecret: secret, written: 0, recordsPerKey: 1)
    var seen: Set<[UInt8]> = []
    for _ in 0..<300 {
      var (bytes, output): ([UInt8], [UInt8]) = ([], [])
      // SAFETY: here and below the arrays outlive the calls.
      _ = unsafe secret.withUnsafeBytes {
        unsafe theirs.seal($0, room: 100, aead, output: &bytes)
      }
      var cursor = TLSCursor(next: 0, end: bytes.count)
      unsafe bytes.withUnsafeMutableBytes { buffer in
        while case .plain = unsafe ours.open(buffer, &cursor, aead, output: &output) {}
      }
      for seals in [true, false] {
        let prints = aead.fingerprints(.aes128, seals: seals)
        #expect(prints.count == 1, "the old keys have a separate context")
        seen.formUnion(prints)
      }
    }
    // The keys have changed, and with them the one context of each direction.
    #expect(seen.count >= 299)
    #expect(aead.contextCount == 2)
  }

  @Test("a direction with new keys, or overwritten, contains none of the old ones")
  func traffic() {
    var traffic = TLSTraffic(.aes256, secret: [UInt8](repeating: 5, count: 48))
    let old = parts(of: traffic)
    traffic.update(.aes256)
    let new = parts(of: traffic)
    for (before, after) in zip(old, new) { #expect(before != after) }
    traffic.wipe()
    #expect(parts(of: traffic).allSatisfy { $0.allSatisfy { $0 == 0 } })
  }

  /// Blocks of its secret and its key.
  private func parts(of traffic: TLSTraffic) -> [[UInt8]] {
    var copy = traffic
    // SAFETY: the value's own bytes, of a type without references.
    let all = unsafe withUnsafeBytes(of: &copy) { unsafe Array($0) }
    return stride(from: 0, to: 80, by: 16).map { Array(all[$0..<($0 + 16)]) }
  }
}
