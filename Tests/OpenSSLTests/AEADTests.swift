import OpenSSL
import Testing

@Suite struct AEADTests {
  static let key = [UInt8](0..<32)
  static let context = Array("webhook:1".utf8)

  @Test("a sealed text opens, and two seals of one text differ", arguments: [0, 1, 16, 4_097])
  func roundTrip(count: Int) {
    let plain = [UInt8](repeating: 7, count: count)
    let sealed = AES256GCM.seal(plain, key: Self.key, context: Self.context)
    #expect(sealed.count == count + 28)
    #expect(AES256GCM.open(sealed, key: Self.key, context: Self.context) == plain)
    #expect(sealed != AES256GCM.seal(plain, key: Self.key, context: Self.context))
  }

  @Test("a sealed text does not open with another key or context, a changed bit or a missing byte")
  func tampering() {
    let sealed = AES256GCM.seal(Array("secret".utf8), key: Self.key, context: Self.context)
    #expect(AES256GCM.open(sealed, key: Self.key.reversed(), context: Self.context) == nil)
    #expect(AES256GCM.open(sealed, key: Self.key, context: []) == nil)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(AES256GCM.open(changed, key: Self.key, context: Self.context) == nil)
    }
    for count in 0..<sealed.count {
      let cut = Array(sealed.prefix(count))
      #expect(AES256GCM.open(cut, key: Self.key, context: Self.context) == nil)
    }
  }

  @Test("a text sealed by another program opens (AES-256-GCM specification, test case 14)")
  func knownAnswer() {
    let sealed: [UInt8] =
      [UInt8](repeating: 0, count: 12) + [
        0xCE, 0xA7, 0x40, 0x3D, 0x4D, 0x60, 0x6B, 0x6E, 0x07, 0x4E, 0xC5, 0xD3, 0xBA, 0xF3, 0x9D,
        0x18, 0xD0, 0xD1, 0xC8, 0xA7, 0x99, 0x99, 0x6B, 0xF0, 0x26, 0x5B, 0x98, 0xB5, 0xD4, 0x8A,
        0xB9, 0x19,
      ]
    #expect(
      AES256GCM.open(sealed, key: [UInt8](repeating: 0, count: 32), context: [])
        == [UInt8](repeating: 0, count: 16))
  }
}
