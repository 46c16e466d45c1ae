/// Width and height of an image, read from its header: pages reserve the space before the image
/// has come. Only lengths are read; nothing is decoded.
import Kernel

public struct ImageSize: Sendable, Equatable {
  public var width: Int
  public var height: Int

  /// Beyond this a value is nonsense.
  static let sideMax = 65_535
  /// Segments of a JPEG that are skipped.
  private static let segmentsMax = 1_000

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// The size of a whole PNG or JPEG file in memory; nil: it is neither, or its header cannot be
  /// read.
  public init?(_ bytes: [UInt8]) {
    let type: String
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      // The first chunk is IHDR (PNG, third edition §11.2.1).
      guard bytes.dropFirst(12).starts(with: "IHDR".utf8) else { return nil }
      type = "image/png"
    } else if bytes.starts(with: [0xFF, 0xD8]) {
      type = "image/jpeg"
    } else {
      return nil
    }
    let size = ImageSize.read(type: type) { count, offset in
      Array(bytes.dropFirst(Int(offset)).prefix(count))
    }
    guard let size else { return nil }
    self = size
  }

  /// Nil: the header cannot be read.
  static func read(_ file: borrowing BlockingFile, type: String) throws(Errno) -> ImageSize? {
    try read(type: type) { (count, offset) throws(Errno) in try file.read(count, at: offset) }
  }

  /// - Parameter piece: returns bytes from an offset on, fewer at the end.
  private static func read<Failure: Error>(
    type: String, _ piece: (_ count: Int, _ offset: Int64) throws(Failure) -> [UInt8]
  ) throws(Failure) -> ImageSize? {
    let head = try piece(64, 0)
    let size: ImageSize?
    switch type {
    case "image/png": size = png(head)
    case "image/gif": size = gif(head)
    case "image/webp": size = webp(head)
    case "image/jpeg": size = try jpeg(piece)
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
  private static func jpeg<Failure: Error>(
    _ piece: (_ count: Int, _ offset: Int64) throws(Failure) -> [UInt8]
  ) throws(Failure) -> ImageSize? {
    var offset: Int64 = 2
    for _ in 0..<segmentsMax {
      let head = try piece(9, offset)
      guard head.count == 9, head[0] == 0xFF else { return nil }
      switch head[1] {
      case 0xFF: offset += 1  // a fill byte
      case 0x01, 0xD0...0xD8: offset += 2  // without a length
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        return ImageSize(width: bigEndian(head[7..<9]), height: bigEndian(head[5..<7]))
      case 0xD9, 0xDA: return nil
      default:
        let length = bigEndian(head[2..<4])
        guard length >= 2 else { return nil }
        offset += 2 + Int64(length)
      }
    }
    return nil
  }
}
