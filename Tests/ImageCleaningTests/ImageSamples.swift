/// Images for tests, made by the libraries of the formats and by hand.
import CImageCodecs
import Foundation

@testable import ImageCleaning

enum ImageSamples {
  /// Pixels whose colours depend on the position, with a red top left corner.
  static func pixels(_ width: Int, _ height: Int, channels: Int = 3) throws -> Pixels {
    let pixels = try Pixels(width: width, height: height, channels: channels)
    for y in 0..<height {
      for x in 0..<width {
        let isCorner = x < width / 2 && y < height / 2
        let colour: [UInt8] = isCorner ? [250, 0, 0, 255] : [0, UInt8(x % 200), 200, 255]
        for part in 0..<channels {
          unsafe pixels.bytes[(y * width + x) * channels + part] = colour[part]
        }
      }
    }
    return pixels
  }

  static func jpeg(_ width: Int, _ height: Int) throws -> [UInt8] {
    try Codec.encodeJPEG(try pixels(width, height), 0)
  }

  static func png(_ width: Int, _ height: Int, channels: Int = 4) throws -> [UInt8] {
    try Codec.encodePNG(try pixels(width, height, channels: channels))
  }

  static func webp(_ width: Int, _ height: Int, isLossless: Bool = false) throws -> [UInt8] {
    try Codec.encodeWebP(try pixels(width, height), isLossless)
  }

  /// A TIFF block with an orientation, a comment with a place, and nothing else.
  static func exif(_ orientation: UInt8, isLittle: Bool = true) -> [UInt8] {
    let head: [UInt8] =
      isLittle
      ? [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
      : [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
    return head + [0, 0, 0, 0] + Array("GPS 52.5N 13.4E".utf8)
  }

  /// Puts a segment APP1 behind the start of an image.
  static func withEXIF(_ jpeg: [UInt8], _ block: [UInt8]) -> [UInt8] {
    let content = Array("Exif\0\0".utf8) + block
    let count = content.count + 2
    return jpeg[..<2] + [0xFF, 0xE1, UInt8(count >> 8), UInt8(count & 0xFF)] + content + jpeg[2...]
  }

  /// Two frames of 4×2 with a comment, a delay and an endless repetition.
  static let gif: [UInt8] = {
    let frame: [UInt8] = [
      0x21, 0xF9, 4, 1, 10, 0, 1, 0, 0x2C, 0, 0, 0, 0, 4, 0, 2, 0, 0, 2, 4, 0x84, 0x8F, 0x09, 0x05,
      0,
    ]
    let comment = [0x21, 0xFE, 14] + Array("GPS 52.5N here".utf8) + [0]
    let loop = [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
    return Array("GIF89a".utf8) + [4, 0, 2, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255] + comment + loop
      + frame + frame + [0x3B]
  }()

  /// A PNG of one pixel whose head says that it is as large as this.
  static func pngHead(_ width: UInt32, _ height: UInt32) throws -> [UInt8] {
    var bytes = try png(1, 1)
    for (index, value) in [width, height].enumerated() {
      for byte in 0..<4 {
        bytes[16 + 4 * index + byte] = UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32(byte)))
      }
    }
    let sum = crc(Array(bytes[12..<29]))
    for byte in 0..<4 {
      bytes[29 + byte] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * UInt32(byte)))
    }
    return bytes
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    var sum: UInt32 = .max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 {
        let isOdd = sum & 1 == 1
        sum >>= 1
        if isOdd { sum ^= 0xEDB8_8320 }
      }
    }
    return ~sum
  }
}
