/// Password hashes verify and are salted, and no stored text can demand unbounded work.
import Primitives
import Testing

@testable import OpenSSL

@Suite struct PasswordTests {
  let cheap = Password.Parameters(log2N: 4, r: 8, p: 1)

  @Test("a password verifies against its own hash only")
  func roundTrip() throws {
    let hash = try Password.hash("correct horse, ถูกต้อง 🐴")
    #expect(hash.utf8.starts(with: "$scrypt$ln=15,r=8,p=3$".utf8))
    #expect(try Password.verify("correct horse, ถูกต้อง 🐴", against: hash))
    #expect(try !Password.verify("correct horse", against: hash))
  }

  @Test("the same password twice has two hashes")
  func salted() throws {
    let hashes = try (0..<2).map { _ in
      try Password.hash("same", parameters: cheap, salt: SecureRandom.bytes(16))
    }
    #expect(hashes[0] != hashes[1])
    #expect(try hashes.allSatisfy { try Password.verify("same", against: $0) })
  }

  @Test("scrypt gives the hash of RFC 7914 §12 for \"password\", \"NaCl\", N=1024, r=8, p=16")
  func knownAnswer() throws {
    let parameters = Password.Parameters(log2N: 10, r: 8, p: 16)
    let encoded = try Password.hash("password", parameters: parameters, salt: Array("NaCl".utf8))
    let key = try #require(encoded.split(separator: "$").last)
    let bytes = try #require(Base64.standard.decode(key.utf8))
    #expect(
      hexadecimal(bytes) == "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162")
  }

  @Test("an empty password is accepted; one above 1 KiB is refused without hashing")
  func lengths() throws {
    let hash = try Password.hash("", parameters: cheap, salt: SecureRandom.bytes(16))
    #expect(try Password.verify("", against: hash))
    let long = String(repeating: "x", count: Password.byteCountMax + 1)
    let longHash = try Password.hash(long, parameters: cheap, salt: SecureRandom.bytes(16))
    #expect(try !Password.verify(long, against: longHash))
  }

  @Test(
    "malformed hashes, and those with excessive parameters, verify nothing",
    arguments: [
      "", "$", "plain", "$scrypt$",
      "$argon2id$ln=4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=4,r=8$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=30,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=18,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=4,r=8,p=999$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=4,r=0,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=+4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=4,r=8,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "$scrypt$ln=4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$",
    ])
  func refused(encoded: String) throws {
    #expect(try !Password.verify("x", against: encoded))
  }

  @Test("an unknown account takes as long as a known one, and verifies nothing")
  func nothing() throws {
    try Password.verifyNothing("guess")
  }
}
