import Primitives

/// Reads a `Sec-WebSocket-Extensions` field (RFC 6455 §9.1) element by element:
///
///     extension-list = 1#( token *( ";" token [ "=" ( token | quoted-string ) ] ) )
///
/// Every byte is read once. Other extensions are skipped. `HeadLimits` bounds the length and the
/// number of the fields.
struct ExtensionList {
  struct Malformed: Error {}

  struct Parameter {
    var name: String
    var value: String?
    /// The value stood between quotes.
    var isQuoted: Bool
  }

  private let bytes: [UInt8]
  private var offset = 0

  init(_ field: String) { bytes = Array(field.utf8) }

  /// The next offer of permessage-deflate, after any other elements; nil at the end.
  mutating func nextDeflateOffer() throws(Malformed) -> DeflateOffer? {
    while true {
      // Empty elements are allowed (RFC 9110 §5.6.1.2).
      while skipBlanks() == UInt8(ascii: ",") { offset += 1 }
      guard offset < bytes.count else { return nil }
      // Names are case-sensitive: no registry says otherwise.
      let isOurs = try token().elementsEqual(DeflateAgreement.extensionName.utf8)
      var offer = DeflateOffer()
      while skipBlanks() == UInt8(ascii: ";") {
        offset += 1
        let parameter = try parameter(isNeeded: isOurs)
        if let parameter { offer.take(parameter) }
      }
      guard offset == bytes.count || bytes[offset] == UInt8(ascii: ",") else { throw Malformed() }
      if isOurs { return offer }
    }
  }

  /// Skips white space and returns the next byte; nil at the end.
  @discardableResult
  private mutating func skipBlanks() -> UInt8? {
    while offset < bytes.count, bytes[offset].isBlank { offset += 1 }
    return offset < bytes.count ? bytes[offset] : nil
  }

  private mutating func token() throws(Malformed) -> ArraySlice<UInt8> {
    skipBlanks()
    let start = offset
    while offset < bytes.count, isTokenCharacter(bytes[offset]) { offset += 1 }
    guard offset > start else { throw Malformed() }
    return bytes[start..<offset]
  }

  private mutating func parameter(isNeeded: Bool) throws(Malformed) -> Parameter? {
    let name = try token()
    var value: ArraySlice<UInt8>?
    var isQuoted = false
    if skipBlanks() == UInt8(ascii: "=") {
      offset += 1
      isQuoted = skipBlanks() == UInt8(ascii: "\"")
      value = isQuoted ? try quotedToken() : try token()
    }
    guard isNeeded else { return nil }
    return Parameter(
      name: String(decoding: name, as: UTF8.self),
      value: value.map { String(decoding: $0, as: UTF8.self) }, isQuoted: isQuoted)
  }

  /// "the value after quoted-string unescaping MUST conform to the 'token' ABNF".
  private mutating func quotedToken() throws(Malformed) -> ArraySlice<UInt8> {
    offset += 1
    var text: [UInt8] = []
    while offset < bytes.count {
      if bytes[offset] == UInt8(ascii: "\"") {
        offset += 1
        guard !text.isEmpty else { throw Malformed() }
        return text[...]
      }
      if bytes[offset] == UInt8(ascii: "\\") { offset += 1 }
      guard offset < bytes.count, isTokenCharacter(bytes[offset]) else { throw Malformed() }
      text.append(bytes[offset])
      offset += 1
    }
    throw Malformed()
  }
}
