import Directory
import Testing

@Suite struct SecretBoxTests {
  private let secret = Array("whsec_1".utf8)
  private let signingKey = Array(repeating: UInt8(7), count: 32)

  private func box(_ keys: String...) -> SecretBox {
    SecretBox(configured: keys, signingKey: signingKey)
  }

  @Test("a secret can be decrypted at its place only")
  func place() {
    let box = box("key 1")
    let sealed = box.seal(secret, place: "webhook:1")
    #expect(box.open(sealed, place: "webhook:1") == secret)
    #expect(box.open(sealed, place: "webhook:2") == nil)
    #expect(box.open(sealed, place: "") == nil)
  }

  @Test("every changed bit, and every cut, is refused")
  func tampering() {
    let box = box("key 1")
    let sealed = box.seal(secret, place: "p")
    for index in sealed.bytes.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed.bytes[index] ^= 1 << bit
        #expect(box.open(changed, place: "p") == nil)
      }
    }
    for count in 0..<sealed.bytes.count {
      let cut = SecretBox.Sealed(keyID: sealed.keyID, bytes: Array(sealed.bytes.prefix(count)))
      #expect(box.open(cut, place: "p") == nil)
    }
  }

  @Test("equal secrets have different ciphertexts, which do not contain the secret")
  func nonce() {
    let box = box()
    let all = (0..<100).map { _ in box.seal(secret, place: "p").bytes }
    #expect(Set(all).count == 100)
    #expect(all.allSatisfy { !String(decoding: $0, as: UTF8.self).contains("whsec") })
  }

  @Test("keys rotate: the newest encrypts, older ones and the signing key can still decrypt")
  func rotation() {
    let (none, first, both) = (box(), box("key 1"), box("key 2", "key 1"))
    let derived = none.seal(secret, place: "p")
    let old = first.seal(secret, place: "p")
    let new = both.seal(secret, place: "p")
    #expect(Set([derived, old, new].map(\.keyID)).count == 3)
    for sealed in [derived, old, new] { #expect(both.open(sealed, place: "p") == secret) }
    #expect(first.open(new, place: "p") == nil, "the key is not configured")
    #expect(box("key 2").open(old, place: "p") == nil)
    #expect(
      SecretBox(configured: [], signingKey: Array(repeating: 8, count: 32))
        .open(derived, place: "p") == nil)
  }

  @Test("a key with the same name and another secret decrypts nothing")
  func keyName() {
    let sealed = box("key 1").seal(secret, place: "p")
    #expect(!sealed.keyID.contains("key 1"))
    var renamed = box("key 2").seal(secret, place: "p")
    renamed.keyID = sealed.keyID
    #expect(box("key 1").open(renamed, place: "p") == nil)
  }

  @Test("a digest is recognised under each configured key, and is not the plain hash")
  func digest() {
    let text = Array("hunter2".utf8)
    let digest = box("key 1").digest(of: text)
    #expect(box("key 2", "key 1").recognises(text, by: digest))
    #expect(!box("key 2").recognises(text, by: digest))
    #expect(!box("key 1").recognises(Array("hunter3".utf8), by: digest))
    #expect(!box("key 1").recognises(text, by: []))
  }
}
