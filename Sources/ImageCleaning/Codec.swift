/// Decodes an image and encodes it again: only pixels go through, so that metadata (place, camera,
/// comments) and whatever else a file may hide end here. Colour profiles are removed too.
import CImageCodecs

/// The files that come out of an image.
struct CleanedFiles {
  var width: Int
  var height: Int
  var image: [UInt8]
  /// A WebP whose longest side is at most `ImageLimits.thumbnailSide`.
  var thumbnail: [UInt8]
}

enum Codec {
  private static let jpegQuality: Int32 = 90
  private static let webpQuality: Float = 88
  private static let thumbnailQuality: Float = 80

  static func clean(_ bytes: [UInt8], _ format: ImageFormat) throws(ImageRefusal) -> CleanedFiles {
    guard !bytes.isEmpty else { throw .unreadable }
    guard bytes.count <= ImageLimits.fileBytes else { throw .tooLarge }
    if format == .gif { return try GIF.clean(bytes) }
    var encoding = Encoding.png
    let pixels = try decode(bytes, format, &encoding).turned(Orientation.of(bytes, format))
    let image = try encode(pixels, encoding)
    return CleanedFiles(
      width: pixels.width, height: pixels.height, image: image, thumbnail: try thumbnail(of: pixels)
    )
  }

  /// How the original was encoded.
  private enum Encoding {
    case jpeg(subsampling: Int32)
    case png
    case webp(isLossless: Bool)
  }

  /// All formats but GIF.
  static func decoded(_ bytes: [UInt8], _ format: ImageFormat) throws(ImageRefusal) -> Pixels {
    var encoding = Encoding.png
    return try decode(bytes, format, &encoding)
  }

  private static func decode(
    _ bytes: [UInt8], _ format: ImageFormat, _ encoding: inout Encoding
  ) throws(ImageRefusal) -> Pixels {
    switch format {
    case .jpeg: try decodeJPEG(bytes, &encoding)
    case .webp: try decodeWebP(bytes, &encoding)
    case .png: try decodePNG(bytes)
    case .gif: throw .unreadable
    }
  }

  private static func encode(
    _ pixels: borrowing Pixels, _ encoding: Encoding
  ) throws(ImageRefusal) -> [UInt8] {
    switch encoding {
    case .jpeg(let subsampling): try encodeJPEG(pixels, subsampling)
    case .png: try encodePNG(pixels)
    case .webp(let isLossless): try encodeWebP(pixels, isLossless)
    }
  }

  static func thumbnail(of pixels: borrowing Pixels) throws(ImageRefusal) -> [UInt8] {
    let (width, height) = pixels.size(within: ImageLimits.thumbnailSide)
    var count = 0
    // SAFETY: the pixels have the given size; the result is copied and freed.
    let made = unsafe chirrup_thumbnail(
      pixels.bytes.baseAddress, Int32(pixels.width), Int32(pixels.height), Int32(pixels.channels),
      Int32(width), Int32(height), thumbnailQuality, &count)
    guard let made = unsafe made else { throw .unreadable }
    defer { unsafe WebPFree(made) }
    return unsafe Array(UnsafeBufferPointer(start: made, count: count))
  }

  // MARK: JPEG

  private static func decodeJPEG(
    _ bytes: [UInt8], _ encoding: inout Encoding
  ) throws(ImageRefusal) -> Pixels {
    guard let decoder = unsafe tjInitDecompress() else { throw .tooLarge }
    defer { unsafe _ = tjDestroy(decoder) }
    var (width, height, subsampling, space): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    // SAFETY: the bytes outlive the call.
    let isRead = unsafe tjDecompressHeader3(
      decoder, bytes, UInt(bytes.count), &width, &height, &subsampling, &space)
    guard isRead == 0 else { throw .unreadable }
    let isPrint = space == Int32(TJCS_CMYK.rawValue) || space == Int32(TJCS_YCCK.rawValue)
    let pixels = try Pixels(width: Int(width), height: Int(height), channels: isPrint ? 4 : 3)
    let form = Int32(isPrint ? TJPF_CMYK.rawValue : TJPF_RGB.rawValue)
    // A progressive file of a few bytes a scan takes a minute without the limit of scans.
    // SAFETY: the pixels have room for all rows without padding.
    let result = unsafe tjDecompress2(
      decoder, bytes, UInt(bytes.count), pixels.bytes.baseAddress, width, 0, height, form,
      Int32(TJFLAG_LIMITSCANS))
    // A warning is a damaged file that decoders show.
    guard unsafe result == 0 || tjGetErrorCode(decoder) == Int32(TJERR_WARNING.rawValue) else {
      throw .unreadable
    }
    let isKnown = (0..<Int32(TJ_NUMSAMP)).contains(subsampling)
    encoding = .jpeg(subsampling: isKnown && !isPrint ? subsampling : Int32(TJSAMP_420.rawValue))
    return isPrint ? try screen(pixels) : pixels
  }

  /// The colours of a print (inverted, as Adobe stores them) for a screen.
  private static func screen(_ print: borrowing Pixels) throws(ImageRefusal) -> Pixels {
    let pixels = try Pixels(width: print.width, height: print.height, channels: 3)
    for index in 0..<print.width * print.height {
      // SAFETY: the index is within both images.
      let black = unsafe Int(print.bytes[4 * index + 3])
      for colour in 0..<3 {
        unsafe pixels.bytes[3 * index + colour] = UInt8(
          Int(print.bytes[4 * index + colour]) * black / 255)
      }
    }
    return pixels
  }

  static func encodeJPEG(
    _ pixels: borrowing Pixels, _ subsampling: Int32
  ) throws(ImageRefusal) -> [UInt8] {
    guard let encoder = unsafe tjInitCompress() else { throw .tooLarge }
    defer { unsafe _ = tjDestroy(encoder) }
    var made: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    defer { unsafe tjFree(made) }
    // SAFETY: the pixels have the given size; the library allocates the result.
    let result = unsafe tjCompress2(
      encoder, pixels.bytes.baseAddress, Int32(pixels.width), 0, Int32(pixels.height),
      Int32(TJPF_RGB.rawValue), &made, &count, subsampling, jpegQuality, 0)
    guard result == 0 else { throw .unreadable }
    return unsafe Array(UnsafeBufferPointer(start: made, count: Int(count)))
  }

  // MARK: PNG

  private static func decodePNG(_ bytes: [UInt8]) throws(ImageRefusal) -> Pixels {
    var image = unsafe png_image()
    unsafe chirrup_png_begin(&image)
    // The structure is freed by the end of reading, or here.
    defer { unsafe png_image_free(&image) }
    var decoded: Pixels?
    // SAFETY: the bytes are read up to the end of the last call, inside this closure.
    try unsafe bytes.span.bytes.withUnsafeBytes { file throws(ImageRefusal) in
      guard unsafe png_image_begin_read_from_memory(&image, file.baseAddress, file.count) != 0
      else { throw .unreadable }
      let hasAlpha = unsafe chirrup_png_has_alpha(&image) != 0
      let pixels = unsafe try Pixels(
        width: Int(image.width), height: Int(image.height), channels: hasAlpha ? 4 : 3)
      guard unsafe chirrup_png_read(&image, hasAlpha ? 1 : 0, pixels.bytes.baseAddress) != 0
      else { throw .unreadable }
      decoded = consume pixels
    }
    guard let decoded else { throw .unreadable }
    return decoded
  }

  static func encodePNG(_ pixels: borrowing Pixels) throws(ImageRefusal) -> [UInt8] {
    let hasAlpha: Int32 = pixels.channels == 4 ? 1 : 0
    let (width, height) = (UInt32(pixels.width), UInt32(pixels.height))
    var count = chirrup_png_bytes_max(width, height, hasAlpha)
    // SAFETY: freed below; the library writes at most `count` bytes.
    guard let made = unsafe malloc(count)?.assumingMemoryBound(to: UInt8.self) else {
      throw .tooLarge
    }
    defer { unsafe free(made) }
    guard
      unsafe chirrup_png_write(
        pixels.bytes.baseAddress, width, height, hasAlpha, made, &count) != 0
    else { throw .unreadable }
    return unsafe Array(UnsafeBufferPointer(start: made, count: count))
  }

  // MARK: WebP

  private static func decodeWebP(
    _ bytes: [UInt8], _ encoding: inout Encoding
  ) throws(ImageRefusal) -> Pixels {
    var (width, height, isLossless, hasAlpha): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    // SAFETY: the bytes outlive the calls.
    switch unsafe chirrup_webp_look(bytes, bytes.count, &width, &height, &isLossless, &hasAlpha) {
    case 1: break
    case 2: throw .animated
    default: throw .unreadable
    }
    let channels = hasAlpha != 0 ? 4 : 3
    let pixels = try Pixels(width: Int(width), height: Int(height), channels: channels)
    let row = width * Int32(channels)
    // SAFETY: the pixels have room for all rows.
    let made =
      if channels == 4 {
        unsafe WebPDecodeRGBAInto(
          bytes, bytes.count, pixels.bytes.baseAddress, pixels.bytes.count, row)
      } else {
        unsafe WebPDecodeRGBInto(
          bytes, bytes.count, pixels.bytes.baseAddress, pixels.bytes.count, row)
      }
    guard unsafe made != nil else { throw .unreadable }
    encoding = .webp(isLossless: isLossless != 0)
    return pixels
  }

  static func encodeWebP(
    _ pixels: borrowing Pixels, _ isLossless: Bool
  ) throws(ImageRefusal) -> [UInt8] {
    let (width, height) = (Int32(pixels.width), Int32(pixels.height))
    let row = width * Int32(pixels.channels)
    let source = unsafe UnsafePointer(pixels.bytes.baseAddress)
    var made: UnsafeMutablePointer<UInt8>?
    // SAFETY: the pixels have the given size; the library allocates the result.
    let count =
      switch (isLossless, pixels.channels) {
      case (true, 4): unsafe WebPEncodeLosslessRGBA(source, width, height, row, &made)
      case (true, _): unsafe WebPEncodeLosslessRGB(source, width, height, row, &made)
      case (false, 4): unsafe WebPEncodeRGBA(source, width, height, row, webpQuality, &made)
      case (false, _): unsafe WebPEncodeRGB(source, width, height, row, webpQuality, &made)
      }
    defer { unsafe WebPFree(made) }
    guard count > 0 else { throw .unreadable }
    return unsafe Array(UnsafeBufferPointer(start: made, count: count))
  }
}
