/// Reads the JSON of a token with a verified signature: issued by a gateway, or by a party that has
/// the key.
import JSON
import Primitives

/// The members of one JSON object, which must be the whole text. Of duplicate names the last one
/// counts (RFC 7519 §4).
struct ObjectReader {
  private var scanner = JSONScanner()
  private var hasBegun = false

  /// The next member; nil at the end. Names with escapes match no known claim.
  mutating func next(
    _ text: RawSpan
  ) throws(TokenFault) -> (name: Range<Int>, value: JSONScanner.Token)? {
    do throws(JSONScanner.Fault) {
      scanner.skipSpace(text)
      let isFirst = !hasBegun
      hasBegun = true
      if isFirst {
        guard scanner.accept(UInt8(ascii: "{"), text) else { throw .syntax }
        scanner.skipSpace(text)
      }
      if scanner.accept(UInt8(ascii: "}"), text) {
        scanner.skipSpace(text)
        guard scanner.isAtEnd(text) else { throw .syntax }
        return nil
      }
      guard isFirst || scanner.accept(UInt8(ascii: ","), text) else { throw .syntax }
      let name = try scanner.key(text)
      guard !name.hasEscapes else { throw .syntax }
      return (name.range, try scanner.value(text, depth: 1))
    } catch {
      throw .malformed
    }
  }
}

extension Claims {
  init(json text: RawSpan) throws(TokenFault) {
    var read = (iss: String?.none, aud: String?.none, sub: String?.none, wsp: String?.none)
    var name: String?
    var iat: Int64?
    var exp: Int64?
    ses = nil
    role = nil
    org = nil
    sid = nil
    crd = nil
    nbf = nil
    var reader = ObjectReader()
    while let (range, value) = try reader.next(text) {
      let key = text.extracting(range)
      if key.equals("iss") {
        read.iss = try Claims.string(value, text)
      } else if key.equals("aud") {
        read.aud = try Claims.string(value, text)
      } else if key.equals("sub") {
        read.sub = try Claims.string(value, text)
      } else if key.equals("wsp") {
        read.wsp = try Claims.string(value, text)
      } else if key.equals("name") {
        name = try Claims.string(value, text)
      } else if key.equals("iat") {
        iat = try Claims.seconds(value, text)
      } else if key.equals("exp") {
        exp = try Claims.seconds(value, text)
      } else if key.equals("nbf") {
        nbf = try Claims.seconds(value, text)
      } else if key.equals("ses") {
        ses = try Claims.strings(value, text)
      } else if key.equals("role") {
        role = try Claims.string(value, text)
      } else if key.equals("org") {
        org = try Claims.string(value, text)
      } else if key.equals("sid") {
        sid = try Claims.string(value, text)
      } else if key.equals("crd") {
        crd = try Claims.string(value, text)
      }
    }
    guard let iss = read.iss, let aud = read.aud, let sub = read.sub, let wsp = read.wsp,
      let name, let iat, let exp
    else { throw .malformed }
    self.iss = iss
    self.aud = aud
    self.sub = sub
    self.wsp = wsp
    self.name = name
    self.iat = iat
    self.exp = exp
  }

  /// Null is equivalent to a missing member.
  static func string(
    _ value: JSONScanner.Token, _ text: RawSpan
  ) throws(TokenFault) -> String? {
    if value.kind == .null { return nil }
    guard value.kind == .string else { throw .malformed }
    var bytes: [UInt8] = []
    do throws(JSONText.Fault) {
      try JSONText.decode(value, in: text, to: &bytes)
    } catch {
      throw .malformed
    }
    guard let string = String(validating: bytes, as: UTF8.self) else { throw .malformed }
    return string
  }

  private static func strings(
    _ value: JSONScanner.Token, _ text: RawSpan
  ) throws(TokenFault) -> [String]? {
    if value.kind == .null { return nil }
    guard value.kind == .array else { throw .malformed }
    let list = text.extracting(value.range)
    var strings: [String] = []
    var scanner = JSONScanner(offset: 1)
    do throws(JSONScanner.Fault) {
      scanner.skipSpace(list)
      var isMore = !scanner.accept(UInt8(ascii: "]"), list)
      while isMore {
        let item = try scanner.value(list, depth: 2)
        guard item.kind == .string, !item.hasEscapes else { throw .syntax }
        strings.append(list.extracting(item.range).string)
        scanner.skipSpace(list)
        // The scanner has validated the list, so a byte that is no comma is its bracket.
        isMore = scanner.accept(UInt8(ascii: ","), list)
      }
    } catch {
      throw .malformed
    }
    return strings
  }

  /// An integer number of seconds. RFC 7519 §2 also allows fractions in a NumericDate, but issuers
  /// use integers.
  static func seconds(
    _ value: JSONScanner.Token, _ text: RawSpan
  ) throws(TokenFault) -> Int64? {
    if value.kind == .null { return nil }
    guard value.kind == .number, let number = Int64(text.extracting(value.range).string) else {
      throw .malformed
    }
    return number
  }
}
