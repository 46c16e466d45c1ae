/// Width and height of an image, read from its header: pages reserve the space before the image
/// has come. Only lengths are read; nothing is decoded.
import Kernel

struct ImageSize: Sendable, Equatable {
  var width: Int
  var height: Int

  /// Beyond this a value is nonsense.
  static let sideMax = 65_535
  /// Segments of a JPEG that are skipped.
  private static let segmentsMax = 1_000

  /// Nil: the header cannot be read.
  static func read(_ file: borrowing BlockingFile, type: String) throws(Errno) -> ImageSize? {
    let head = try file.read(64, at: 0)
    let size: ImageSize?
    switch type {
    case "image/png": size = png(head)
    case "image/gif": size = gif(head)
    case "image/webp": size = webp(head)
    case "image/jpeg": size = try jpeg(file)
    default: size = nil
    }
    guard let size, 1...sideMax ~= size.width, 1...sideMax ~= size.height else { return nil }
    return size
  }

  private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  private static func littleEndian(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private static func png(_ head: [UInt8]) -> ImageSize? {
    guard head.count >= 24 else { return nil }
    return ImageSize(width: bigEndian(head[16..<20]), height: bigEndian(head[20..<24]))
  }

  private static func gif(_ head: [UInt8]) -> ImageSize? {
    guard head.count >= 10 else { return nil }
    return ImageSize(width: littleEndian(head[6..<8]), height: littleEndian(head[8..<10]))
  }

  private static func webp(_ head: [UInt8]) -> ImageSize? {
    guard head.count >= 30 else { return nil }
    switch String(decoding: head[12..<16], as: UTF8.self) {
    case "VP8 ":
      return ImageSize(
        width: littleEndian(head[26..<28]) & 0x3FFF, height: littleEndian(head[28..<30]) & 0x3FFF)
    case "VP8L":
      let bits = littleEndian(head[21..<25])
      return ImageSize(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1)
    case "VP8X":
      return ImageSize(
        width: littleEndian(head[24..<27]) + 1, height: littleEndian(head[27..<30]) + 1)
    default: return nil
    }
  }

  /// The first frame header (SOF) behind the segments before it.
  private static func jpeg(_ file: borrowing BlockingFile) throws(Errno) -> ImageSize? {
    var offset: Int64 = 2
    for _ in 0..<segmentsMax {
      let head = try file.read(9, at: offset)
      guard head.count == 9, head[0] == 0xFF else { return nil }
      switch head[1] {
      case 0xFF: offset += 1
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        return ImageSize(width: bigEndian(head[7..<9]), height: bigEndian(head[5..<7]))
      case 0xD9, 0xDA: return nil
      default: offset += 2 + Int64(bigEndian(head[2..<4]))
      }
    }
    return nil
  }
}
