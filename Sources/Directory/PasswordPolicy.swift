/// The passwords that an account may get (NIST SP 800-63B §5.1.1.2): long enough, not a common one,
/// and not made of the account's own words. No rule asks for kinds of characters.
import CCommonPasswords
import OpenSSL
import Primitives

public enum PasswordPolicy {
  public static let charactersMin = 10
  /// Different characters of a password.
  static let differentMin = 4
  /// Characters that remain without the account's own words.
  static let othersMin = 6
  /// Shorter words are parts of many others.
  static let ownWordMin = 3
  /// Characters of the longest password in the list of common ones, and the hashes of its Bloom
  /// filter (`scripts/common-passwords`).
  static let commonCharactersMax = 20
  static let hashes: UInt64 = 10

  /// The reason why a password is refused. The raw value completes the sentence “The password …”.
  public enum Fault: String, Error, Sendable, CaseIterable {
    case short = "needs at least 10 characters. A sentence works well."
    case long = "has more than 1,024 bytes. Use a shorter one."
    case common = "is one of the most common ones and would be guessed. Choose another one."
    case repetitive = "repeats the same few characters and would be guessed. Choose another one."
    case own =
      "is made of your name, address or workspace and would be guessed. Choose other words."
  }

  /// - Parameter own: texts of the account: its address, its name, the workspace's name.
  public static func fault(_ password: String, own: [String]) -> Fault? {
    // Each code point counts as one character.
    guard password.unicodeScalars.count >= charactersMin else { return .short }
    guard password.utf8.count <= Password.byteCountMax else { return .long }
    let lowered = password.lowercased()
    if Set(lowered).count < differentMin { return .repetitive }
    if isCommon(lowered) { return .common }
    return isOwn(lowered, words: own) ? .own : nil
  }

  static func isCommon(_ lowered: String) -> Bool {
    guard lowered.unicodeScalars.count <= commonCharactersMax else { return false }
    let digest = SHA256.digest(Array(lowered.utf8))
    let first = digest[0..<8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let step = digest[8..<16].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    var length: UInt = 0
    // SAFETY: the table is a constant of the binary with this length, and the index is below it.
    let table = unsafe chirrup_common_passwords(&length)
    guard let table = unsafe table else { return false }
    for number in 0..<hashes {
      let bit = (first &+ number &* step) % (UInt64(length) * 8)
      if unsafe table[Int(bit >> 3)] & (1 << UInt8(bit & 7)) == 0 { return false }
    }
    return true
  }

  private static func isOwn(_ lowered: String, words: [String]) -> Bool {
    var parts: Set<Substring> = []
    for text in words {
      let lowered: String = text.lowercased()
      for part in lowered.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
      where part.count >= ownWordMin {
        parts.insert(part)
      }
    }
    guard !parts.isEmpty else { return false }
    var rest = Substring(lowered)
    var others = 0
    // The longest word first: the name “Anna” must not leave the rest of “Annabel”.
    let longestFirst: [Substring] = parts.sorted { $0.count > $1.count }
    while let character = rest.first {
      if let word = longestFirst.first(where: { rest.hasPrefix($0) }) {
        rest = rest.dropFirst(word.count)
      } else {
        if character.isLetter || character.isNumber { others += 1 }
        rest = rest.dropFirst()
      }
    }
    return others < othersMin
  }
}
