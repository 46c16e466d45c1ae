/// Finds how a camera was held (Exif 2.32 §4.6.4, tag 274) in the metadata of an image. The
/// metadata are removed, so the pixels have to be turned before. Everything here comes from a
/// stranger: each offset is checked, and nothing is followed twice.

enum Orientation {
  /// 1 to 8; 1 for an image without a valid entry.
  static func of(_ bytes: [UInt8], _ format: ImageFormat) -> Int {
    let block: ArraySlice<UInt8>? =
      switch format {
      case .jpeg: jpegBlock(bytes)
      case .png: chunk("eXIf", in: bytes, from: 8, isPNG: true)
      case .webp: chunk("EXIF", in: bytes, from: 12, isPNG: false)
      case .gif: nil
      }
    guard let block else { return 1 }
    return entry(Array(block.prefix(blockBytesMax))) ?? 1
  }

  /// The first entries are near the begin; a JPEG's block has at most 64 KiB anyway.
  private static let blockBytesMax = 65_536
  private static let exif = Array("Exif\0\0".utf8)

  /// The segment APP1 before the first scan (ISO/IEC 10918-1 §B.1.1).
  private static func jpegBlock(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
    var position = 2
    while position + 4 <= bytes.count, bytes[position] == 0xFF {
      let marker = bytes[position + 1]
      if marker == 0xFF {  // a fill byte
        position += 1
        continue
      }
      if marker == 0xDA || marker == 0xD9 { return nil }
      let count = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
      let end = position + 2 + count
      guard count >= 2, end <= bytes.count else { return nil }
      let content = bytes[position + 4..<max(end, position + 4)]
      if marker == 0xE1, content.starts(with: exif) { return content.dropFirst(exif.count) }
      position = end
    }
    return nil
  }

  /// A chunk of PNG (§5.3: length, type, data, CRC) or of RIFF (type, length, data, padding).
  private static func chunk(
    _ name: String, in bytes: [UInt8], from start: Int, isPNG: Bool
  ) -> ArraySlice<UInt8>? {
    var position = start
    while position + 8 <= bytes.count {
      let number = bytes[(isPNG ? position : position + 4)...].prefix(4)
      let count = (isPNG ? Array(number) : number.reversed()).reduce(0) { $0 << 8 | Int($1) }
      let isWanted = bytes[(isPNG ? position + 4 : position)...].prefix(4).elementsEqual(name.utf8)
      let begin = position + 8
      guard count <= bytes.count - begin else { return nil }
      if isWanted {
        let content = bytes[begin..<begin + count]
        return content.starts(with: exif) ? content.dropFirst(exif.count) : content
      }
      position = begin + count + (isPNG ? 4 : count % 2)
    }
    return nil
  }

  /// The entry of a TIFF header's first directory (TIFF 6.0 §2).
  private static func entry(_ block: [UInt8]) -> Int? {
    let isLittle = block.starts(with: [0x49, 0x49])
    guard isLittle || block.starts(with: [0x4D, 0x4D]) else { return nil }
    func number(_ position: Int, _ count: Int) -> Int? {
      guard position >= 0, position + count <= block.count else { return nil }
      let part = block[position..<position + count]
      return (isLittle ? part.reversed() : Array(part)).reduce(0) { $0 << 8 | Int($1) }
    }
    guard number(2, 2) == 42, let directory = number(4, 4), let count = number(directory, 2)
    else { return nil }
    for index in 0..<count {
      let position = directory + 2 + 12 * index
      guard let tag = number(position, 2) else { return nil }
      guard tag == 0x0112 else { continue }
      guard number(position + 2, 2) == 3, let value = number(position + 8, 2) else { return nil }
      return (1...8).contains(value) ? value : nil
    }
    return nil
  }
}
