import CImageCodecs
import Testing

@testable import ImageCleaning

@Suite struct CodecTests {
  private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: text.utf8) }
  }

  /// The colour of a pixel of the cleaned image.
  private func colour(_ bytes: [UInt8], _ format: ImageFormat, x: Int, y: Int) throws -> [UInt8] {
    let pixels = try Codec.decoded(bytes, format)
    let place = (y * pixels.width + x) * pixels.channels
    return (0..<3).map { unsafe pixels.bytes[place + $0] }
  }

  @Test("metadata, appended files and text blocks do not survive", arguments: ImageFormat.allCases)
  func metadata(format: ImageFormat) throws {
    let original: [UInt8] =
      switch format {
      case .jpeg: ImageSamples.withEXIF(try ImageSamples.jpeg(64, 32), ImageSamples.exif(1))
      case .png: try ImageSamples.png(64, 32)
      case .webp: try ImageSamples.webp(64, 32)
      case .gif: ImageSamples.gif
      }
    let polyglot = original + Array("<script>alert(1)</script>GPS PK\u{3}\u{4}".utf8)
    let cleaned = try Codec.clean(polyglot, format)
    #expect(!contains(cleaned.image, "GPS") && !contains(cleaned.image, "<script"))
    #expect(cleaned.width == (format == .gif ? 4 : 64))
    let again = try Codec.clean(cleaned.image, format)
    #expect(again.width == cleaned.width && again.height == cleaned.height)
  }

  @Test("the picture is turned as the camera was held", arguments: 1...8)
  func orientation(value: Int) throws {
    let jpeg = try ImageSamples.jpeg(64, 32)
    for isLittle in [true, false] {
      let block = ImageSamples.exif(UInt8(value), isLittle: isLittle)
      let cleaned = try Codec.clean(ImageSamples.withEXIF(jpeg, block), .jpeg)
      #expect(cleaned.width == (value < 5 ? 64 : 32) && cleaned.height == (value < 5 ? 32 : 64))
      // Where the red top left corner goes (Exif 2.32, figure of the tag).
      let (isRight, isBottom) = (
        [2, 3, 6, 7].contains(value), [3, 4, 7, 8].contains(value)
      )
      let red = try colour(
        cleaned.image, .jpeg, x: isRight ? cleaned.width - 4 : 3,
        y: isBottom ? cleaned.height - 4 : 3)
      #expect(red[0] > 200 && red[2] < 60, "\(value): \(red)")
    }
  }

  @Test("a thumbnail is a WebP of at most 640 pixels; a small image is not enlarged")
  func thumbnails() throws {
    let large = try Codec.clean(try ImageSamples.jpeg(1_920, 480), .jpeg)
    let small = try Codec.clean(try ImageSamples.png(20, 10), .png)
    for (files, width, height) in [(large, 640, 160), (small, 20, 10)] {
      let pixels = try Codec.decoded(files.thumbnail, .webp)
      #expect(pixels.width == width && pixels.height == height)
    }
    let thin = try Codec.clean(try ImageSamples.png(2_000, 1), .png)
    let pixels = try Codec.decoded(thin.thumbnail, .webp)
    #expect(pixels.width == 640 && pixels.height == 1)
  }

  @Test("opacity and lossless pixels stay")
  func exact() throws {
    for format in [ImageFormat.png, .webp] {
      let original =
        format == .png
        ? try ImageSamples.png(30, 20) : try ImageSamples.webp(30, 20, isLossless: true)
      let cleaned = try Codec.clean(original, format)
      #expect(try colour(cleaned.image, format, x: 2, y: 2) == [250, 0, 0])
      #expect(try colour(cleaned.image, format, x: 25, y: 15) == [0, 25, 200])
    }
    #expect(
      try Codec.decoded(try Codec.clean(try ImageSamples.png(3, 3), .png).image, .png).channels == 4
    )
  }

  @Test("a GIF keeps its frames, delays and repetition")
  func animation() throws {
    let cleaned = try Codec.clean(ImageSamples.gif, .gif)
    let starts = cleaned.image.indices.count {
      cleaned.image[$0...].starts(with: [0x21, 0xF9, 4, 1, 10, 0])
    }
    #expect(starts == 2 && contains(cleaned.image, "NETSCAPE2.0"))
    #expect(cleaned.height == 2 && !cleaned.thumbnail.isEmpty)
  }

  @Test("images of too many pixels are refused by their heads")
  func bombs() throws {
    for (width, height) in [(30_001, 1), (29_000, 29_000), (1, 4_000_000)] as [(UInt32, UInt32)] {
      let head = try ImageSamples.pngHead(width, height)
      #expect(throws: ImageRefusal.self) { try Codec.clean(head, .png) }
    }
    #expect(throws: ImageRefusal.tooLarge) {
      try Codec.clean(try ImageSamples.pngHead(29_000, 29_000), .png)
    }
    var gif = ImageSamples.gif
    gif.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
    #expect(throws: ImageRefusal.tooLarge) { try Codec.clean(gif, .gif) }
  }

  @Test("no damaged file ends the process", arguments: ImageFormat.allCases)
  func damaged(format: ImageFormat) throws {
    let original: [UInt8] =
      switch format {
      case .jpeg: ImageSamples.withEXIF(try ImageSamples.jpeg(40, 24), ImageSamples.exif(6))
      case .png: try ImageSamples.png(40, 24)
      case .webp: try ImageSamples.webp(40, 24)
      case .gif: ImageSamples.gif
      }
    var random = SystemRandomNumberGenerator()
    for count in [0, 1, 2, 3, 8, 12, original.count / 2, original.count - 1] {
      _ = try? Codec.clean(Array(original[..<count]), format)
    }
    for _ in 0..<150 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      // Whatever comes out is an image of its own.
      if let cleaned = try? Codec.clean(bytes, format) {
        #expect(try Codec.decoded(cleaned.thumbnail, .webp).width <= 640)
      }
    }
    for other in ImageFormat.allCases where other != format {
      #expect(throws: ImageRefusal.self) { try Codec.clean(original, other) }
    }
  }

  @Test("the search for the orientation ends within any block")
  func hostileEXIF() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<5_000 {
      var block = ImageSamples.exif(6, isLittle: Bool.random())
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        block[Int.random(in: 0..<block.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      let jpeg = ImageSamples.withEXIF([0xFF, 0xD8, 0xFF, 0xD9], block)
      #expect((1...8).contains(Orientation.of(jpeg, .jpeg)))
      for format in ImageFormat.allCases {
        let bytes = (0..<60).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect((1...8).contains(Orientation.of(bytes, format)))
      }
    }
  }
}
