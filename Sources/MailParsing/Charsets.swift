/// Bytes of a text part as a string. Labels are often wrong, so bytes that are UTF-8 count as that
/// under each label of a charset that contains ASCII.
import CGMime

@safe final class Charsets {
  /// Charsets whose texts may be UTF-8 by accident: escape sequences, or two bytes a character.
  private static let unlikeASCII = ["utf-16", "utf-32", "utf-7", "ucs", "iso-2022", "hz"]
  /// Labels that name a part of what people send under them (as browsers read them).
  private static let wider = [
    "iso-8859-1": "windows-1252", "latin1": "windows-1252", "us-ascii": "windows-1252",
    "ascii": "windows-1252", "iso-8859-9": "windows-1254", "iso-8859-11": "windows-874",
    "gb2312": "gb18030", "gbk": "gb18030", "ks_c_5601-1987": "cp949", "euc-kr": "cp949",
    "shift_jis": "cp932", "shift-jis": "cp932", "x-sjis": "cp932", "big5": "big5-hkscs",
    "iso-8859-8-i": "iso-8859-8",
  ]
  /// Loaded before the process is confined: afterwards no file can be opened. Others count as
  /// `windows-1252`.
  private static let known =
    [
      "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
      "windows-1255", "windows-1256", "windows-1257", "windows-1258", "windows-874", "iso-8859-2",
      "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8",
      "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r",
      "koi8-u", "gb18030", "big5-hkscs", "cp932", "euc-jp", "iso-2022-jp", "iso-2022-kr", "cp949",
      "utf-7", "utf-16", "utf-16le", "utf-16be", "utf-32", "macintosh", "cp850", "cp866", "cp437",
      "tis-620",
    ]

  private let converters: [String: UnsafeMutableRawPointer]

  init() {
    var converters: [String: UnsafeMutableRawPointer] = unsafe [:]
    for name in Charsets.known {
      // SAFETY: the name is read during the call. A converter lives until the process ends.
      guard let converter = unsafe chirrup_converter(name) else { continue }
      unsafe converters[name] = converter
    }
    unsafe self.converters = converters
  }

  func text(_ bytes: [UInt8], charset: String) -> String {
    let label = charset.lowercased()
    let isLikeASCII = !Charsets.unlikeASCII.contains { label.hasPrefix($0) }
    if isLikeASCII, let text = String(validating: bytes, as: UTF8.self) { return text }
    if label == "utf-8" || label == "utf8" { return mostlyUTF8(bytes) }
    let name = Charsets.wider[label] ?? label
    let fallback = unsafe converters["windows-1252"]
    guard let converter = unsafe converters[name] ?? fallback else {
      return String(decoding: bytes, as: UTF8.self)
    }
    // Four bytes for each of the input and the reset sequence.
    var room = [UInt8](repeating: 0, count: 4 * bytes.count + 16)
    let size = room.count
    // SAFETY: at most `size` bytes are written.
    let count = unsafe chirrup_convert(converter, bytes, bytes.count, &room, size)
    return String(decoding: room[..<count], as: UTF8.self)
  }

  /// UTF-8 with a few faults, or another charset under its name.
  private func mostlyUTF8(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let faults = text.unicodeScalars.count { $0 == "\u{FFFD}" }
    let others = bytes.count { $0 >= 0x80 }
    return faults * 2 > others ? self.text(bytes, charset: "windows-1252") : text
  }
}
