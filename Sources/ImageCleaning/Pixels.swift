/// A decoded image: rows of 8-bit pixels from the top left, three or four bytes each.
import CImageCodecs

@safe struct Pixels: ~Copyable {
  let width: Int
  let height: Int
  /// 3: red, green, blue; 4: and opacity.
  let channels: Int
  let bytes: UnsafeMutableBufferPointer<UInt8>

  /// Refuses what is larger than `ImageLimits`, and what the process may not allocate.
  init(width: Int, height: Int, channels: Int) throws(ImageRefusal) {
    try Pixels.check(width: width, height: height)
    unsafe self.init(
      width, height, channels, try Pixels.allocate(width * height * channels))
  }

  private init(
    _ width: Int, _ height: Int, _ channels: Int, _ bytes: UnsafeMutableBufferPointer<UInt8>
  ) {
    self.width = width
    self.height = height
    self.channels = channels
    unsafe self.bytes = bytes
  }

  private static func allocate(
    _ count: Int
  ) throws(ImageRefusal) -> UnsafeMutableBufferPointer<UInt8> {
    // SAFETY: freed in `deinit`. calloc returns NULL at the limit of memory; Swift's own allocation
    // would end the process.
    guard let made = unsafe calloc(count, 1)?.bindMemory(to: UInt8.self, capacity: count) else {
      throw .tooLarge
    }
    return unsafe UnsafeMutableBufferPointer(start: made, count: count)
  }

  deinit {
    // SAFETY: allocated in `init`.
    unsafe free(bytes.baseAddress)
  }

  static func check(width: Int, height: Int) throws(ImageRefusal) {
    guard width > 0, height > 0 else { throw .unreadable }
    guard width <= ImageLimits.side, height <= ImageLimits.side,
      width * height <= ImageLimits.pixels
    else { throw .tooLarge }
  }

  /// The image as the camera saw it (Exif 2.32 §4.6.4): for 2, 4, 5 and 7 mirrored, for 5 to 8 with
  /// columns and rows exchanged.
  consuming func turned(_ orientation: Int) throws(ImageRefusal) -> Pixels {
    guard (2...8).contains(orientation) else { return self }
    let isTransposed = orientation >= 5
    let turned = try Pixels(
      width: isTransposed ? height : width, height: isTransposed ? width : height,
      channels: channels)
    let (lastX, lastY) = (width - 1, height - 1)
    guard let source = unsafe bytes.baseAddress, let target = unsafe turned.bytes.baseAddress else {
      throw .unreadable
    }
    for y in 0..<turned.height {
      for x in 0..<turned.width {
        let (u, v) =
          switch orientation {
          case 2: (lastX - x, y)
          case 3: (lastX - x, lastY - y)
          case 4: (x, lastY - y)
          case 5: (y, x)
          case 6: (y, lastY - x)
          case 7: (lastX - y, lastY - x)
          default: (lastX - y, x)
          }
        // SAFETY: x, y are within the turned image and u, v within this one.
        unsafe (target + (y * turned.width + x) * channels).update(
          from: source + (v * width + u) * channels, count: channels)
      }
    }
    return turned
  }

  /// The size that fits into a square of `side`; the image's own if it does already.
  func size(within side: Int) -> (width: Int, height: Int) {
    let longest = max(width, height)
    guard longest > side else { return (width, height) }
    return (max(1, width * side / longest), max(1, height * side / longest))
  }
}
