import Primitives

/// Negotiates the content coding of a file (RFC 9110 §12.5.3) among the available ones.
public enum AcceptEncoding {
  public enum Coding: String, CaseIterable, Sendable {
    case brotli = "br"
    case gzip
  }

  /// The coding with the greatest weight; among equals the first in `codings`. Nil means the
  /// unencoded file: no coding is acceptable, the client prefers identity, or the field is absent.
  public static func preferred(_ fields: HeadFields, among codings: [Coding]) -> Coding? {
    let weights = weights(fields)
    var best: (coding: Coding, weight: Int)?
    for coding in codings {
      let weight = weights[coding.rawValue] ?? weights["*"] ?? 0
      if weight > best?.weight ?? 0 { best = (coding, weight) }
    }
    guard let best, best.weight >= weights["identity"] ?? 0 else { return nil }
    return best.coding
  }

  /// Weights in thousandths, by coding in lower case.
  private static func weights(_ fields: HeadFields) -> [String: Int] {
    var weights: [String: Int] = [:]
    for member in fields.list(of: "accept-encoding") {
      let parts = member.utf8.split(separator: UInt8(ascii: ";"), maxSplits: 1)
      guard let coding = parts.first.map({ word($0) }),
        let weight = parts.count < 2 ? 1000 : weight(word(parts[1]))
      else { continue }
      // §8.4.1.3: a recipient treats "x-gzip" like "gzip".
      let name = coding == "x-gzip" ? "gzip" : coding
      weights[name] = name == "gzip" ? max(weights[name] ?? 0, weight) : weight
    }
    return weights
  }

  private static func word(_ text: Substring.UTF8View) -> String {
    Substring(text).trimmingBlanks.lowercased()
  }

  /// §12.4.2: `q=` and 0 to 1 with three digits at most, in thousandths; nil for anything else;
  /// the member is then ignored.
  private static func weight(_ text: String) -> Int? {
    guard text.utf8.starts(with: "q=".utf8) else { return nil }
    let digits = Array(text.utf8.dropFirst(2))
    guard (1...5).contains(digits.count), digits.count == 1 || digits[1] == UInt8(ascii: ".") else {
      return nil
    }
    var weight = 0
    for position in [0, 2, 3, 4] {
      let digit = position < digits.count ? digits[position] : UInt8(ascii: "0")
      guard digit.isASCIIDigit else { return nil }
      weight = weight * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return weight <= 1000 ? weight : nil
  }
}
