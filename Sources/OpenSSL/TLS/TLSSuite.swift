/// The three cipher suites of TLS 1.3 (RFC 8446 §B.4), and the derivation of keys from a secret
/// (§7.1, §7.3).
import COpenSSL
import Primitives

enum TLSSuite: UInt8, CaseIterable {
  case aes128, aes256, chacha20

  /// By its number in the standard.
  init?(protocolID: UInt16) {
    switch protocolID {
    case 0x1301: self = .aes128
    case 0x1302: self = .aes256
    case 0x1303: self = .chacha20
    default: return nil
    }
  }

  var keyBytes: Int { self == .aes128 ? 16 : 32 }
  /// Bytes of the hash, which is the length of a secret.
  var secretBytes: Int { self == .aes256 ? 48 : 32 }

  static let nonceBytes = 12
  static let tagBytes = 16

  var cipher: OpaquePointer? {
    // SAFETY: these are constant tables of OpenSSL.
    switch self {
    case .aes128: unsafe EVP_aes_128_gcm()
    case .aes256: unsafe EVP_aes_256_gcm()
    case .chacha20: unsafe EVP_chacha20_poly1305()
    }
  }

  /// HKDF-Expand-Label with an empty context (§7.1). All derived values are at most as long as the
  /// hash, so HKDF-Expand is one HMAC (RFC 5869 §2.3).
  func expand(_ secret: [UInt8], label: StaticString, byteCount: Int) -> [UInt8] {
    precondition(byteCount <= secretBytes, "one block of HKDF-Expand is as long as the hash")
    var information: [UInt8] = []
    information.append(bigEndian: UInt16(byteCount))
    information.append(UInt8(6 + label.utf8CodeUnitCount))
    information.append("tls13 ")
    information.append(label)
    information += [0, 1]
    var code = [UInt8](repeating: 0, count: 64)
    var written: UInt32 = 0
    // SAFETY: all buffers live through the call, and SHA-384 writes at most 48 bytes.
    let result = unsafe secret.withUnsafeBytes { key in
      unsafe information.withUnsafeBufferPointer { input in
        unsafe code.withUnsafeMutableBufferPointer { output in
          unsafe HMAC(
            self == .aes256 ? EVP_sha384() : EVP_sha256(), key.baseAddress, Int32(key.count),
            input.baseAddress, input.count, output.baseAddress, &written) != nil
        }
      }
    }
    precondition(result && Int(written) == secretBytes, "OpenSSL cannot compute HMAC")
    defer { overwrite(&code) }
    return Array(code.prefix(byteCount))
  }
}

/// Overwrites a secret; the compiler cannot optimise it away.
func overwrite(_ bytes: inout [UInt8]) {
  // SAFETY: the buffer belongs to the array.
  unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}

/// One direction of a connection: its secret, the keys derived from it, and the next record's
/// number.
struct TLSTraffic {
  private(set) var secret: [48 of UInt8] = .init(repeating: 0)
  private var key: [32 of UInt8] = .init(repeating: 0)
  private var iv: [12 of UInt8] = .init(repeating: 0)
  var sequence: UInt64 = 0
  /// The context that has the keys, if it still has the mark; a mark is never 0. See `TLSAEAD.use`.
  var mark: UInt64 = 1
  var slot: UInt16 = 0

  init(_ suite: TLSSuite, secret: [UInt8]) { set(suite, secret) }

  /// §7.2: derives the next generation of keys.
  mutating func update(_ suite: TLSSuite) {
    var current = (0..<suite.secretBytes).map { secret[$0] }
    var next = suite.expand(current, label: "traffic upd", byteCount: suite.secretBytes)
    set(suite, next)
    overwrite(&current)
    overwrite(&next)
  }

  private mutating func set(_ suite: TLSSuite, _ bytes: [UInt8]) {
    precondition(bytes.count == suite.secretBytes, "a secret must have the length of the hash")
    var keyBytes = suite.expand(bytes, label: "key", byteCount: suite.keyBytes)
    var ivBytes = suite.expand(bytes, label: "iv", byteCount: TLSSuite.nonceBytes)
    for index in bytes.indices { secret[index] = bytes[index] }
    for index in keyBytes.indices { key[index] = keyBytes[index] }
    for index in ivBytes.indices { iv[index] = ivBytes[index] }
    overwrite(&keyBytes)
    overwrite(&ivBytes)
    sequence = 0
    mark = 1
  }

  mutating func withKey<Result>(_ body: (UnsafePointer<UInt8>?) -> Result) -> Result {
    // SAFETY: the key's own bytes, during the call.
    unsafe withUnsafeBytes(of: &key) {
      unsafe body($0.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// §5.3: the record's number, padded on the left, XORed with the IV. Increments the number.
  mutating func nextNonce() -> [12 of UInt8] {
    var nonce = iv
    let number = sequence
    for index in 0..<8 {
      nonce[4 + index] ^= UInt8(truncatingIfNeeded: number >> (56 - 8 * index))
    }
    sequence = number + 1
    return nonce
  }

  mutating func wipe() {
    // SAFETY: the value's own bytes; the type has no references.
    unsafe withUnsafeMutableBytes(of: &self) { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
  }
}
