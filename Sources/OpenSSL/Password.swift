/// Operators' passwords: scrypt (RFC 7914), with parameters and salt in one line of text in the PHC
/// string format, `$scrypt$ln=15,r=8,p=3$SALT$HASH`.
///
/// The parameters are OWASP's for 32 MiB. A hash takes about a quarter of a second on one core, so
/// it must not run on an event loop, and not more often at once than there are spare cores.
/// Verification refuses parameters beyond `memoryBytesMax`, so that a stored text cannot demand any
/// amount of memory.
import COpenSSL
import Primitives

/// The reason why libcrypto failed.
public enum CryptoFault: Error, Equatable {
  case outOfMemory
}

public enum Password {
  /// Bytes of the longest password, so that nobody can make the server hash megabytes.
  public static let byteCountMax = 1_024
  static let memoryBytesMax: UInt64 = 128 << 20
  static let passesMax: UInt64 = 16
  static let saltBytes = 16
  static let keyBytes = 32

  /// Returns a new salted hash as text.
  public static func hash(_ password: String) throws(CryptoFault) -> String {
    try hash(password, parameters: .recommended, salt: SecureRandom.bytes(saltBytes))
  }

  static func hash(
    _ password: String, parameters: Parameters, salt: [UInt8]
  ) throws(CryptoFault) -> String {
    let key = try derive(password, parameters: parameters, salt: salt, byteCount: keyBytes)
    return "$scrypt$ln=\(parameters.log2N),r=\(parameters.r),p=\(parameters.p)"
      + "$\(Base64.standard.encode(salt))$\(Base64.standard.encode(key))"
  }

  /// Whether `password` has the hash `encoded`. False for any other text.
  public static func verify(
    _ password: String, against encoded: String
  ) throws(CryptoFault) -> Bool {
    guard password.utf8.count <= byteCountMax, let stored = Stored(encoded) else { return false }
    let key = try derive(
      password, parameters: stored.parameters, salt: stored.salt, byteCount: stored.key.count)
    return constantTimeEquals(key, stored.key)
  }

  /// Takes as long as a verification: for unknown accounts, so that response times do not reveal
  /// which accounts exist.
  public static func verifyNothing(_ password: String) throws(CryptoFault) {
    guard password.utf8.count <= byteCountMax else { return }
    let salt = [UInt8](repeating: 0, count: saltBytes)
    _ = try derive(password, parameters: .recommended, salt: salt, byteCount: keyBytes)
  }

  private static func derive(
    _ password: String, parameters: Parameters, salt: [UInt8], byteCount: Int
  ) throws(CryptoFault) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: byteCount)
    let secret = password.utf8.map { CChar(bitPattern: $0) }
    // SAFETY: the three buffers live through the call with the lengths given.
    let succeeded = unsafe secret.withUnsafeBufferPointer { secret in
      unsafe salt.withUnsafeBufferPointer { salt in
        unsafe key.withUnsafeMutableBufferPointer { key in
          // OpenSSL needs slightly more than 128 * N * r bytes; the bound is a limit, not an
          // allocation.
          unsafe EVP_PBE_scrypt(
            secret.baseAddress, secret.count, salt.baseAddress, salt.count, 1 << parameters.log2N,
            parameters.r, parameters.p, memoryBytesMax * 2, key.baseAddress, key.count)
        }
      }
    }
    if succeeded != 1 {
      ERR_clear_error()
      throw .outOfMemory
    }
    return key
  }

  /// Cost of a hash: N = 2^ln, `r` blocks of 128 bytes, `p` passes.
  struct Parameters: Equatable {
    var log2N: UInt64
    var r: UInt64
    var p: UInt64

    static let recommended = Parameters(log2N: 15, r: 8, p: 3)

    var areAffordable: Bool {
      (1...24).contains(log2N) && (1...64).contains(r) && (1...passesMax).contains(p)
        && 128 * r << log2N <= memoryBytesMax
    }
  }

  /// The parts of an encoded hash.
  struct Stored {
    var parameters: Parameters
    var salt: [UInt8]
    var key: [UInt8]

    init?(_ text: String) {
      guard text.utf8.count <= 512 else { return nil }
      let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
      guard parts.count == 5, parts[0].isEmpty, String(parts[1]) == "scrypt" else { return nil }
      let values = parts[2].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      guard values.count == 3, let log2N = Stored.number(values[0], after: "ln="),
        let r = Stored.number(values[1], after: "r="),
        let p = Stored.number(values[2], after: "p="),
        let salt = Base64.standard.decode(parts[3]), let key = Base64.standard.decode(parts[4])
      else { return nil }
      parameters = Parameters(log2N: log2N, r: r, p: p)
      guard parameters.areAffordable, (8...64).contains(salt.count), (16...64).contains(key.count)
      else { return nil }
      self.salt = salt
      self.key = key
    }

    private static func number(_ text: Substring.UTF8View, after prefix: String) -> UInt64? {
      guard text.starts(with: prefix.utf8) else { return nil }
      let digits = text.dropFirst(prefix.utf8.count)
      guard (1...3).contains(digits.count), digits.allSatisfy(\.isASCIIDigit)
      else { return nil }
      return digits.reduce(0) { $0 * 10 + UInt64($1 - 0x30) }
    }
  }
}
