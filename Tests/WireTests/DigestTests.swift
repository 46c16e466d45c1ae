import Primitives
import Testing

@testable import Wire

@Suite struct DigestTests {
  private func base64(_ digest: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.standard.append(digest, padded: true, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  @Test("SHA-1 gives the digests of RFC 3174 §7.3 and of lengths around the end of a block")
  func vectors() {
    let sample = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    #expect(base64(SHA1.digest(Array("abc".utf8))) == "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=")
    #expect(base64(SHA1.digest(Array(sample.utf8))) == "hJg+RBw70m66rkqh+VEp5eVGcPE=")
    let letters: [(Int, String)] = [
      (0, "2jmj7l5rSw0yVb/vlWAYkK/YBwk="), (55, "wci73CJ5bijA4VFj0giZtlYh1lo="),
      (56, "wtszD2CDhUyZ1LW/tujynyAb5pk="), (63, "A/CfWxWKeoza2SC93Cm4HBilUfU="),
      (64, "AJi6gktcFkJ716ESKlpEKiXsZE0="), (65, "EWVTJscI1wMZviYQ6KV9mluVnTs="),
      (1_000, "KR6abGaZSUm1e6XmUDYemPw2sbo="),
    ]
    for (count, digest) in letters {
      let message = [UInt8](repeating: UInt8(ascii: "a"), count: count)
      #expect(base64(SHA1.digest(message)) == digest, "\(count) letters")
    }
  }
}
