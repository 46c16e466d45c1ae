import Compression
import OpenSSL
import Primitives
import WebAssets
import Wire

/// The files of widget, console and demo, from the table in the binary: looked up by path, with an
/// entity tag for each form, and the place holders of the two pages filled in.
struct Assets: Sendable {
  /// The bytes of one coding (RFC 9110 §8.8.3.3: every one has a strong tag of its own).
  struct Form: Sendable {
    var bytes: [UInt8]
    var entityTag: String
  }

  /// The value of Cache-Control (RFC 9111 §5.2.2, RFC 8246).
  enum Caching: String, Sendable {
    /// The path names the content.
    case forever = "public, max-age=31536000, immutable"
    /// A path that sites embed: a visitor who walks through a site asks once a minute.
    case briefly = "public, max-age=60, must-revalidate"
    /// It may be another file at the next request.
    case never = "no-cache"
  }

  struct Asset: Sendable {
    var contentType: String
    var plain: Form
    /// Those that save enough.
    var codings: [AcceptEncoding.Coding: Form]
    /// Loaded by pages of other sites.
    var isShared: Bool
    var caching: Caching
  }

  private var table: [String: Asset] = [:]
  /// The paths of the files with a hash in their path, by the path without it.
  private var paths: [String: String] = [:]

  /// `values` are put in for `{{NAME}}`, escaped for HTML.
  init(values: [String: String]) {
    var count: UInt = 0
    // SAFETY: the table is immutable, and its bytes live as long as the program.
    let assets = unsafe chirrup_assets(&count)
    for index in 0..<Int(count) {
      guard let asset = unsafe assets?[index] else { continue }
      let path = unsafe String(cString: asset.path)
      let name = unsafe String(cString: asset.name)
      let contentType = unsafe String(cString: asset.content_type)
      let isPage = contentType.hasPrefix("text/html")
      var bytes = unsafe Assets.bytes(asset.plain)
      if isPage { bytes = Assets.fill(bytes, values) }
      var codings: [AcceptEncoding.Coding: Form] = [:]
      codings[.brotli] = unsafe Form(packed: Assets.bytes(asset.brotli))
      codings[.gzip] =
        isPage ? Assets.gzip(bytes) : unsafe Form(packed: Assets.bytes(asset.gzip))
      if path != name { paths[name] = path }
      table[path] = Asset(
        contentType: contentType, plain: Form(bytes), codings: codings,
        isShared: path == "/widget.js" || path.hasPrefix("/assets/"),
        caching: path != name ? .forever : isPage ? .never : .briefly)
    }
  }

  /// A path with the hash of another version gets the file of this one: a page that is open, or
  /// that another gateway of the same service has sent, finds what it loads later.
  subscript(path: String) -> Asset? {
    if let asset = table[path] { return asset }
    guard let current = Assets.withoutHash(path).flatMap({ paths[$0] }), var asset = table[current]
    else { return nil }
    asset.caching = .never
    return asset
  }

  /// `/assets/console-0f1e2d3c4b.js` becomes `/assets/console.js`.
  static func withoutHash(_ path: String) -> String? {
    guard let dash = path.lastIndex(of: "-") else { return nil }
    let hash = path[path.index(after: dash)...].prefix { $0 != "." }
    guard hash.utf8.count == 10, hash.allSatisfy(\.isHexDigit), hash.endIndex < path.endIndex
    else { return nil }
    return String(path[..<dash] + path[hash.endIndex...])
  }

  @unsafe private static func bytes(_ form: chirrup_form) -> [UInt8] {
    // SAFETY: the form has this many bytes, and none where there is no such form.
    unsafe Array(UnsafeBufferPointer(start: form.bytes, count: Int(form.length)))
  }

  /// Nil where gzip gains less than an eighth.
  private static func gzip(_ bytes: [UInt8]) -> Form? {
    let packed = bytes.withRawSpan { Deflater.gzip($0) }
    guard packed.count < bytes.count - bytes.count / 8 else { return nil }
    return Form(packed)
  }

  fileprivate static func entityTag(of bytes: [UInt8]) -> String {
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

extension Assets.Form {
  fileprivate init(_ bytes: [UInt8]) {
    self.init(bytes: bytes, entityTag: Assets.entityTag(of: bytes))
  }

  /// Nil where there is no such form.
  fileprivate init?(packed: [UInt8]) {
    guard !packed.isEmpty else { return nil }
    self.init(packed)
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
