import Compression
import OpenSSL
import Primitives
import WebAssets

/// The pages of widget, console and demo, from the table in the binary: looked up by path, with an
/// entity tag for each form, the place holders of the two pages filled in and everything compressed
/// once at start.
struct Assets: Sendable {
  /// The bytes of one coding (RFC 9110 §8.8.3.3: every one has a strong tag of its own).
  struct Form: Sendable {
    var bytes: [UInt8]
    var entityTag: String
  }

  struct Asset: Sendable {
    var contentType: String
    var plain: Form
    /// Nil where gzip gains less than an eighth.
    var gzip: Form?
    /// Loaded by pages of other sites.
    var isShared: Bool
  }

  private var table: [String: Asset] = [:]

  /// `values` are put in for `{{NAME}}`, escaped for HTML.
  init(values: [String: String]) {
    var count: UInt = 0
    // SAFETY: the table is complete and immutable after the first call, and its bytes live as long
    // as the program.
    let assets = unsafe chirrup_assets(&count)
    for index in 0..<Int(count) {
      guard let asset = unsafe assets?[index] else { continue }
      let path = unsafe String(cString: asset.path)
      let contentType = unsafe String(cString: asset.content_type)
      var bytes = unsafe Array(UnsafeBufferPointer(start: asset.bytes, count: Int(asset.length)))
      if contentType.hasPrefix("text/html") { bytes = Assets.fill(bytes, values) }
      // SAFETY: as above; the file has this many bytes, none where there is no file.
      let squeezed = unsafe Array(
        UnsafeBufferPointer(start: asset.gzip, count: Int(asset.gzip_length)))
      table[path] = Asset(
        contentType: contentType, plain: Form(bytes: bytes, entityTag: Assets.entityTag(of: bytes)),
        gzip: squeezed.isEmpty
          ? Assets.gzip(bytes) : Form(bytes: squeezed, entityTag: Assets.entityTag(of: squeezed)),
        isShared: path == "/widget.js" || path.hasPrefix("/assets/"))
    }
  }

  subscript(path: String) -> Asset? { table[path] }

  private static func gzip(_ bytes: [UInt8]) -> Form? {
    let packed = bytes.withRawSpan { Deflater.gzip($0) }
    guard packed.count < bytes.count - bytes.count / 8 else { return nil }
    return Form(bytes: packed, entityTag: entityTag(of: packed))
  }

  private static func entityTag(of bytes: [UInt8]) -> String {
    var text = "\""
    for byte in SHA256.digest(bytes).prefix(12) {
      text.append(Character(UnicodeScalar("0123456789abcdef".utf8[at: byte >> 4])))
      text.append(Character(UnicodeScalar("0123456789abcdef".utf8[at: byte & 15])))
    }
    return text + "\""
  }

  private static func fill(_ bytes: [UInt8], _ values: [String: String]) -> [UInt8] {
    var text = String(decoding: bytes, as: UTF8.self)
    for (name, value) in values {
      var parts = text.splitting(on: "{{\(name)}}")
      guard parts.count > 1 else { continue }
      let last = parts.removeLast()
      text = parts.map { $0 + escapeHTML(value) }.joined() + last
    }
    return Array(text.utf8)
  }

  private static func escapeHTML(_ text: String) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.append(character)
      }
    }
    return escaped
  }
}

extension String.UTF8View {
  fileprivate subscript(at offset: UInt8) -> UInt8 {
    self[index(startIndex, offsetBy: Int(offset))]
  }
}

extension String {
  /// The parts between occurrences of a separator, in order.
  fileprivate func splitting(on separator: String) -> [String] {
    var parts: [String] = []
    var part = ""
    var rest = Substring(self)
    while let first = rest.first {
      if rest.hasPrefix(separator) {
        parts.append(part)
        part = ""
        rest = rest.dropFirst(separator.count)
      } else {
        part.append(first)
        rest = rest.dropFirst()
      }
    }
    return parts + [part]
  }
}
