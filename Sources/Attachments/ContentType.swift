/// The type of a file, judged by its bytes. What a client declares is not used, and the end of the
/// name only where bytes cannot tell: office documents, and kinds of text.
import Primitives

/// The kinds of files that a workspace allows or forbids.
public enum AttachmentGroup: String, CaseIterable, Sendable {
  case images, pdf, text, office, audio, video, archives
}

public struct ContentType: Sendable, Equatable {
  /// A media type.
  public var name: String
  public var group: AttachmentGroup

  public init(_ name: String, _ group: AttachmentGroup) {
    self.name = name
    self.group = group
  }

  /// Types that browsers may show from our origin: raster images, which run no script.
  public static let inline: Set<String> = ["image/png", "image/jpeg", "image/gif", "image/webp"]

  /// The first bytes that `judge` needs.
  static let headBytes = 65_536

  /// Nil: an unknown type, such as a program.
  ///
  /// - Parameters:
  ///   - head: the first `headBytes`, or all of them.
  ///   - isWhole: `head` is the whole file.
  static func judge(_ head: [UInt8], isWhole: Bool, name: String) -> ContentType? {
    signature(head, name: name) ?? text(head, isWhole: isWhole, name: name)
  }

  /// The group of files with such a name; nil: the name has no known end.
  public static func group(ofName name: String) -> AttachmentGroup? {
    ending(of: name).flatMap { end in endings.first { $0.value.contains(end) }?.key }
  }

  /// Whether the name has an end that belongs to no group, as `.exe`.
  public static func isForeign(_ name: String) -> Bool {
    guard let end = ending(of: name) else { return false }
    return group(ofName: name) == nil && end.count <= 5
      && end.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
      && end.utf8.contains { $0.isASCIILetter }
  }

  /// Whether a file of this type may have such a name: a page named `photo.png` would be opened as
  /// what its name says.
  func fits(_ name: String) -> Bool {
    guard let expected = ContentType.group(ofName: name) else { return true }
    let media: Set<AttachmentGroup> = [.audio, .video]
    return expected == group || media.contains(expected) && media.contains(group)
  }

  private static let endings: [AttachmentGroup: Set<String>] = [
    .images: [
      "png", "jpg", "jpeg", "jpe", "jfif", "gif", "webp", "bmp", "tif", "tiff", "heic", "heif",
      "avif",
    ],
    .pdf: ["pdf"],
    .text: [
      "txt", "csv", "tsv", "md", "log", "json", "xml", "html", "htm", "xhtml", "svg", "yaml", "yml",
      "ics", "vcf", "rtf", "css", "ini", "conf", "eml",
    ],
    .office: ["docx", "xlsx", "pptx", "odt", "ods", "odp", "doc", "xls", "ppt"],
    .audio: ["mp3", "wav", "ogg", "oga", "opus", "flac", "m4a", "aac", "weba"],
    .video: ["mp4", "m4v", "mov", "webm", "mkv", "avi", "ogv", "3gp"],
    .archives: ["zip", "gz", "tgz", "tar", "7z", "rar", "bz2", "xz", "zst"],
  ]

  /// The end of a file's name that people expect of this type; nil: it is none of these media.
  var usualEnding: String? {
    switch name {
    case "image/jpeg": "jpg"
    case "image/png": "png"
    case "image/gif": "gif"
    case "image/webp": "webp"
    case "image/heic": "heic"
    case "video/mp4": "mp4"
    case "video/quicktime": "mov"
    case "video/webm": "webm"
    case "audio/mp4": "m4a"
    case "audio/mpeg": "mp3"
    case "audio/aac": "aac"
    case "audio/ogg": "ogg"
    case "audio/wav": "wav"
    default: nil
    }
  }

  /// The end of a name in lower case, without the dot; nil: it has none.
  static func ending(of name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    let end = name[name.index(after: dot)...].lowercased()
    return end.isEmpty ? nil : end
  }
}

// MARK: Signatures

extension ContentType {
  private static let signatures: [(offset: Int, bytes: [UInt8], type: ContentType)] = [
    (0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], ContentType("image/png", .images)),
    (0, [0xFF, 0xD8, 0xFF], ContentType("image/jpeg", .images)),
    (0, Array("GIF87a".utf8), ContentType("image/gif", .images)),
    (0, Array("GIF89a".utf8), ContentType("image/gif", .images)),
    (0, [0x49, 0x49, 0x2A, 0x00], ContentType("image/tiff", .images)),
    (0, [0x4D, 0x4D, 0x00, 0x2A], ContentType("image/tiff", .images)),
    (0, Array("%PDF-".utf8), ContentType("application/pdf", .pdf)),
    (0, Array("ID3".utf8), ContentType("audio/mpeg", .audio)),
    (0, Array("fLaC".utf8), ContentType("audio/flac", .audio)),
    (0, Array("OggS".utf8), ContentType("audio/ogg", .audio)),
    (0, [0x1F, 0x8B, 0x08], ContentType("application/gzip", .archives)),
    (
      0, [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C],
      ContentType("application/x-7z-compressed", .archives)
    ),
    (0, Array("Rar!\u{1A}\u{07}".utf8), ContentType("application/vnd.rar", .archives)),
    (0, Array("BZh".utf8), ContentType("application/x-bzip2", .archives)),
    (0, [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], ContentType("application/x-xz", .archives)),
    (0, [0x28, 0xB5, 0x2F, 0xFD], ContentType("application/zstd", .archives)),
    (257, Array("ustar".utf8), ContentType("application/x-tar", .archives)),
  ]

  private static func signature(_ head: [UInt8], name: String) -> ContentType? {
    if let known = signatures.first(where: { has($0.bytes, at: $0.offset, in: head) }) {
      return known.type
    }
    if has(Array("RIFF".utf8), at: 0, in: head) { return riff(head) }
    if has(Array("ftyp".utf8), at: 4, in: head) { return boxes(head) }
    if has([0x1A, 0x45, 0xDF, 0xA3], at: 0, in: head) { return matroska(head) }
    if has([0x50, 0x4B, 0x03, 0x04], at: 0, in: head) { return zip(head, name: name) }
    if has([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], at: 0, in: head) {
      return oldOffice(name)
    }
    if has(Array("BM".utf8), at: 0, in: head), ending(of: name) == "bmp" {
      return ContentType("image/bmp", .images)
    }
    // The header of an MPEG audio frame, without a tag before it.
    if head.count > 3, head[0] == 0xFF, head[1] & 0xE6 == 0xE2, head[2] & 0xF0 != 0xF0 {
      return ContentType("audio/mpeg", .audio)
    }
    if head.count > 3, head[0] == 0xFF, head[1] & 0xF6 == 0xF0 {
      return ContentType("audio/aac", .audio)
    }
    return nil
  }

  private static func has(_ bytes: [UInt8], at offset: Int, in head: [UInt8]) -> Bool {
    head.count >= offset + bytes.count && head[offset..<offset + bytes.count].elementsEqual(bytes)
  }

  private static func riff(_ head: [UInt8]) -> ContentType? {
    if has(Array("WEBP".utf8), at: 8, in: head) { return ContentType("image/webp", .images) }
    if has(Array("WAVE".utf8), at: 8, in: head) { return ContentType("audio/wav", .audio) }
    if has(Array("AVI ".utf8), at: 8, in: head) { return ContentType("video/x-msvideo", .video) }
    return nil
  }

  /// ISO base media files, by their major brand.
  private static func boxes(_ head: [UInt8]) -> ContentType? {
    guard head.count >= 12 else { return nil }
    switch String(decoding: head[8..<12], as: UTF8.self) {
    case "avif", "avis": return ContentType("image/avif", .images)
    case "heic", "heix", "mif1", "msf1", "heim", "heis": return ContentType("image/heic", .images)
    case "M4A ", "M4B ": return ContentType("audio/mp4", .audio)
    case "qt  ": return ContentType("video/quicktime", .video)
    default: return ContentType("video/mp4", .video)
    }
  }

  private static func matroska(_ head: [UInt8]) -> ContentType {
    let start = head.prefix(64)
    let isWebM = start.indices.contains { at in
      start[at...].starts(with: Array("webm".utf8))
    }
    return ContentType(isWebM ? "video/webm" : "video/x-matroska", .video)
  }

  /// Documents of office programs are ZIP archives with a certain first file.
  private static func zip(_ head: [UInt8], name: String) -> ContentType {
    let kinds = [
      "docx": "vnd.openxmlformats-officedocument.wordprocessingml.document",
      "xlsx": "vnd.openxmlformats-officedocument.spreadsheetml.sheet",
      "pptx": "vnd.openxmlformats-officedocument.presentationml.presentation",
      "odt": "vnd.oasis.opendocument.text", "ods": "vnd.oasis.opendocument.spreadsheet",
      "odp": "vnd.oasis.opendocument.presentation",
    ]
    let first = String(decoding: head.dropFirst(30).prefix(80), as: UTF8.self)
    let isDocument =
      ["[Content_Types].xml", "_rels/", "docProps/", "word/", "xl/", "ppt/", "mimetype"]
      .contains { first.hasPrefix($0) }
    guard isDocument, let end = ending(of: name), let kind = kinds[end] else {
      return ContentType("application/zip", .archives)
    }
    return ContentType("application/\(kind)", .office)
  }

  private static func oldOffice(_ name: String) -> ContentType? {
    switch ending(of: name) {
    case "doc": ContentType("application/msword", .office)
    case "xls": ContentType("application/vnd.ms-excel", .office)
    case "ppt": ContentType("application/vnd.ms-powerpoint", .office)
    default: nil
    }
  }
}

// MARK: Text

extension ContentType {
  /// Files without control characters. Pages and SVG are texts: they are never shown as pages.
  private static func text(_ head: [UInt8], isWhole: Bool, name: String) -> ContentType? {
    guard !head.isEmpty, !head.contains(where: isForbidden) else { return nil }
    let end = ending(of: name)
    let isKnown = end.map { endings[.text]?.contains($0) ?? false } ?? false
    guard isKnown || isUTF8(head, isWhole: isWhole) else { return nil }
    let start = String(decoding: head.prefix(1_024), as: UTF8.self).lowercased()
    if start.contains("<svg") || end == "svg" { return ContentType("image/svg+xml", .text) }
    if start.contains("<html") || start.contains("<!doctype html") || start.contains("<script") {
      return ContentType("text/html", .text)
    }
    if start.hasPrefix("{\\rtf") { return ContentType("application/rtf", .text) }
    let type =
      switch end {
      case "html", "htm", "xhtml": "text/html"
      case "xml": "application/xml"
      case "json": "application/json"
      case "csv": "text/csv"
      case "md": "text/markdown"
      case "ics": "text/calendar"
      case "vcf": "text/vcard"
      default: start.hasPrefix("<?xml") ? "application/xml" : "text/plain"
      }
    return ContentType(type, .text)
  }

  private static func isForbidden(_ byte: UInt8) -> Bool {
    byte < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains(byte) || byte == 0x7F
  }

  /// A character that the end of the head has cut is no fault.
  private static func isUTF8(_ head: [UInt8], isWhole: Bool) -> Bool {
    for cut in 0...(isWhole ? 0 : 3) where cut < head.count {
      if String(validating: head.dropLast(cut), as: UTF8.self) != nil { return true }
    }
    return false
  }
}
