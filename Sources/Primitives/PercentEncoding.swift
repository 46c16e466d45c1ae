/// Percent-encoding (RFC 3986 §2.1), for paths, queries and connection strings.
extension RawSpan {
  /// Decodes once. With `plusIsSpace`, `+` becomes a space, as in a query (WHATWG URL §5.1).
  ///
  /// `check` receives each byte that was escaped. Returns nil for a malformed escape, and for bytes
  /// that are not UTF-8 afterwards.
  public func percentDecoded<Failure: Error>(
    plusIsSpace: Bool, check: (UInt8) throws(Failure) -> Void
  ) throws(Failure) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    var offset = 0
    while offset < byteCount {
      var byte = byte(at: offset)
      offset += 1
      if byte == UInt8(ascii: "%") {
        guard offset + 2 <= byteCount, let high = hexadecimalValue(self.byte(at: offset)),
          let low = hexadecimalValue(self.byte(at: offset + 1))
        else { return nil }
        byte = high << 4 | low
        offset += 2
        try check(byte)
      } else if plusIsSpace && byte == UInt8(ascii: "+") {
        byte = UInt8(ascii: " ")
      }
      bytes.append(byte)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension String {
  /// Escapes every byte except the unreserved characters (RFC 3986 §2.3) and those in `allowed`,
  /// which are ASCII.
  public func percentEncoded(allowing allowed: String = "") -> String {
    var text: [UInt8] = []
    for byte in utf8 {
      if byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte)
        || allowed.utf8.contains(byte)
      {
        text.append(byte)
      } else {
        text.append(UInt8(ascii: "%"))
        text.append(hexadecimalDigit(byte >> 4))
        text.append(hexadecimalDigit(byte & 0xF))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
