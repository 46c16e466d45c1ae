/// The size of a picture, from the head of a PNG or JPEG file. LINE judges the rest.
struct ImageSize: Equatable {
  var width: Int
  var height: Int

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Nil if it is neither, or is cut off.
  init?(_ bytes: [UInt8]) {
    func word(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      // The first chunk is IHDR (PNG, third edition §11.2.1).
      guard bytes.count >= 24, bytes[12..<16].elementsEqual("IHDR".utf8) else { return nil }
      (width, height) = (word(16) << 16 | word(18), word(20) << 16 | word(22))
      return
    }
    guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
    var place = 2
    while place + 9 <= bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      switch marker {
      case 0xFF: place += 1  // a fill byte
      case 0x01, 0xD0...0xD8: place += 2
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:  // a frame header
        (height, width) = (word(place + 5), word(place + 7))
        return
      case 0xD9, 0xDA: return nil
      default:
        let length = word(place + 2)
        guard length >= 2 else { return nil }
        place += 2 + length
      }
    }
    return nil
  }
}
