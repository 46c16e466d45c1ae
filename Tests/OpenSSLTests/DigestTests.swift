/// Known answers for the digests, and the properties that the rest of Chirrup relies on.
import OpenSSL
import Primitives
import Testing

@Suite struct DigestTests {
  @Test("SHA-256 gives the digests of the examples of FIPS 180-4")
  func sha256() {
    #expect(
      hexadecimal(SHA256.digest([]))
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      hexadecimal(SHA256.digest(Array("abc".utf8)))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test("HMAC-SHA-256 gives the code of test case 2 of RFC 4231")
  func hmac() {
    let code = HMACSHA256.code(
      for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(
      hexadecimal(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      HMACSHA256.isValid(
        code, for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
    #expect(!HMACSHA256.isValid(code, for: Array("what do ya want".utf8), key: Array("Jefe".utf8)))
  }

  @Test("a reused key verifies each code like a new one")
  func hmacKey() {
    let key = HMACSHA256Key(Array("Jefe".utf8))
    for count in [28, 0, 1, 64, 500, 28] {
      let message = [UInt8](repeating: 7, count: count)
      let code = HMACSHA256.code(for: message, key: Array("Jefe".utf8))
      #expect(message.withRawSpan { key.isValid(code, for: $0) })
      #expect(!message.withRawSpan { key.isValid(Array(code.dropLast()), for: $0) })
      #expect(!message.withRawSpan { key.isValid([], for: $0) })
      #expect(!(message + [7]).withRawSpan { key.isValid(code, for: $0) })
    }
  }

  @Test("empty keys and messages are valid")
  func emptyHMAC() {
    #expect(
      hexadecimal(HMACSHA256.code(for: [], key: []))
        == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
  }

  @Test func `a comparison in constant time finds a changed and a missing byte`() {
    #expect(constantTimeEquals([], []))
    #expect(constantTimeEquals([1, 2, 3], [1, 2, 3]))
    #expect(!constantTimeEquals([1, 2, 3], [1, 2, 4]))
    #expect(!constantTimeEquals([1, 2, 3], [1, 2]))
  }

  @Test("random tokens are long enough, in the URL alphabet, and all different")
  func tokens() {
    let tokens = (0..<100).map { _ in SecureRandom.token() }
    #expect(Set(tokens).count == 100)
    #expect(tokens.allSatisfy { $0.utf8.count == 43 && Base64.url.decode($0.utf8)?.count == 32 })
    #expect(SecureRandom.bytes(0) == [])
    #expect(SecureRandom.word() != SecureRandom.word())
  }
}

func hexadecimal(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(
    decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
