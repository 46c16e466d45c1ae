import Compression
import OpenSSL
import Primitives
import WebAssets
import Wire

/// The files of widget, console and demo, from the table in the binary, by path. Each form of a
/// file has an entity tag, and the placeholders of the pages are filled in.
struct Assets: Sendable {
  /// The bytes of one content coding. Each coding has its own strong tag (RFC 9110 §8.8.3.3).
  struct Form: Sendable {
    var bytes: [UInt8]
    var entityTag: String
  }

  /// The value of Cache-Control (RFC 9111 §5.2.2, RFC 8246).
  enum Caching: String, Sendable {
    /// The path names the content.
    case forever = "public, max-age=31536000, immutable"
    /// A path that sites embed: a visitor's browser checks it once a minute.
    case briefly = "public, max-age=60, must-revalidate"
    /// The file may differ at the next request.
    case never = "no-cache"
  }

  struct Asset: Sendable {
    var contentType: String
    var plain: Form
    /// The compressed forms that save enough.
    var codings: [AcceptEncoding.Coding: Form]
    /// Whether pages of other sites load it.
    var isShared: Bool
    var caching: Caching
  }

  private var table: [String: Asset] = [:]
  /// Paths with a hash of the content, by the path without it.
  private var paths: [String: String] = [:]

  /// - Parameter values: replace `{{NAME}}` in the pages, escaped for HTML.
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

  /// A path with the hash of another version gets the file of this one, so that an open page, or
  /// one that another gateway sent, can still load its files.
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
    // SAFETY: the form has this many bytes, and none if there is no such form.
    unsafe Array(UnsafeBufferPointer(start: form.bytes, count: Int(form.length)))
  }

  /// Nil if gzip saves less than an eighth.
  private static func gzip(_ bytes: [UInt8]) -> Form? {
    let packed = bytes.withRawSpan { Deflater.gzip($0) }
    guard packed.count < bytes.count - bytes.count / 8 else { return nil }
    return Form(packed)
  }

  fileprivate static func entityTag(of bytes: [UInt8]) -> String {
    "\"\(Array(SHA256.digest(bytes).prefix(12)).hexadecimal)\""
  }

  private static func fill(_ bytes: [UInt8], _ values: [String: String]) -> [UInt8] {
    var text = String(decoding: bytes, as: UTF8.self)
    for (name, value) in values { text.replace("{{\(name)}}", with: escapeHTML(value)) }
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

  /// Nil if there is no such form.
  fileprivate init?(packed: [UInt8]) {
    guard !packed.isEmpty else { return nil }
    self.init(packed)
  }
}
