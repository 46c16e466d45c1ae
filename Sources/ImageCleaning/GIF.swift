/// GIF with its frames: each is decoded and encoded again, line by line, so that a long animation
/// needs the memory of one line. Of the extensions only delays, transparency and the repetition
/// remain.
import CImageCodecs

@safe struct GIF: ~Copyable {
  /// The input and output of giflib's callbacks.
  private final class Files {
    let input: [UInt8]
    var position = 0
    var output: [UInt8] = []

    init(_ input: [UInt8]) { self.input = input }
  }

  private let files: Files
  private let reader: UnsafeMutablePointer<GifFileType>
  private let writer: UnsafeMutablePointer<GifFileType>
  private var frames = 0
  private var framePixels = 0
  private var firstFrame: Pixels?

  static func clean(_ bytes: [UInt8]) throws(ImageRefusal) -> CleanedFiles {
    let files = Files(bytes)
    var gif = try GIF(files)
    let (width, height) = unsafe (Int(gif.reader.pointee.SWidth), Int(gif.reader.pointee.SHeight))
    try Pixels.check(width: width, height: height)
    try gif.copy()
    guard let first = gif.firstFrame.take() else { throw .unreadable }
    let thumbnail = try Codec.thumbnail(of: first)
    try gif.close()
    return CleanedFiles(width: width, height: height, image: files.output, thumbnail: thumbnail)
  }

  private init(_ files: Files) throws(ImageRefusal) {
    self.files = files
    // SAFETY: `files` lives as long as this value, which closes both in `deinit`; the callbacks run
    // only inside its functions.
    let owner = unsafe Unmanaged.passUnretained(files).toOpaque()
    var error: Int32 = 0
    guard let reader = unsafe DGifOpen(owner, GIF.readGIF, &error) else { throw .unreadable }
    guard let writer = unsafe EGifOpen(owner, GIF.writeGIF, &error) else {
      unsafe _ = DGifCloseFile(reader, &error)
      throw .tooLarge
    }
    unsafe self.reader = reader
    unsafe self.writer = writer
  }

  private var isClosed = false

  deinit {
    var error: Int32 = 0
    // SAFETY: opened in `init`; the writer is closed once.
    unsafe _ = DGifCloseFile(reader, &error)
    if !isClosed { unsafe _ = EGifCloseFile(writer, &error) }
  }

  /// Writes the end of the file.
  private mutating func close() throws(ImageRefusal) {
    var error: Int32 = 0
    isClosed = true
    // SAFETY: open up to here; the call frees it even when it fails.
    guard unsafe EGifCloseFile(writer, &error) == GIF_OK else { throw .tooLarge }
  }

  private mutating func copy() throws(ImageRefusal) {
    // SAFETY: both structures are owned here, and their maps live as long as they do.
    unsafe EGifSetGifVersion(writer, true)
    let head = unsafe reader.pointee
    let isBegun = unsafe EGifPutScreenDesc(
      writer, head.SWidth, head.SHeight, head.SColorResolution, head.SBackGroundColor,
      head.SColorMap)
    guard isBegun == GIF_OK else { throw .unreadable }
    while true {
      var record = UNDEFINED_RECORD_TYPE
      guard unsafe DGifGetRecordType(reader, &record) == GIF_OK else { throw .unreadable }
      switch record {
      case IMAGE_DESC_RECORD_TYPE: try copyFrame()
      case EXTENSION_RECORD_TYPE: try copyExtension()
      case TERMINATE_RECORD_TYPE: return
      default: throw .unreadable
      }
    }
  }

  private mutating func copyFrame() throws(ImageRefusal) {
    // SAFETY: as above; a line has room for the frame's width.
    guard unsafe DGifGetImageDesc(reader) == GIF_OK else { throw .unreadable }
    let frame = unsafe reader.pointee.Image
    let (width, height) = unsafe (Int(frame.Width), Int(frame.Height))
    try Pixels.check(width: width, height: height)
    frames += 1
    framePixels += width * height
    guard frames <= ImageLimits.frames, framePixels <= ImageLimits.framePixels else {
      throw .tooLarge
    }
    guard
      unsafe EGifPutImageDesc(
        writer, frame.Left, frame.Top, frame.Width, frame.Height, frame.Interlace, frame.ColorMap)
        == GIF_OK
    else { throw .unreadable }
    let colours = unsafe Colours(
      frame.ColorMap ?? reader.pointee.SColorMap, transparent: transparentColour)
    if frames == 1 { firstFrame = try Pixels(width: width, height: height, channels: 4) }
    var line = [UInt8](repeating: 0, count: width)
    for index in 0..<height {
      guard unsafe DGifGetLine(reader, &line, Int32(width)) == GIF_OK else { throw .unreadable }
      if frames == 1 {
        let row = unsafe frame.Interlace ? GIF.row(index, of: height) : index
        unsafe colours.paint(line, firstFrame?.bytes.baseAddress?.advanced(by: row * width * 4))
      }
      guard unsafe EGifPutLine(writer, &line, Int32(width)) == GIF_OK else { throw .unreadable }
    }
  }

  /// The row of a line in an interlaced image (GIF89a, appendix E).
  private static func row(_ index: Int, of height: Int) -> Int {
    var left = index
    for (first, step) in [(0, 8), (4, 8), (2, 4), (1, 2)] {
      let count = max(0, (height - first + step - 1) / step)
      if left < count { return first + left * step }
      left -= count
    }
    return height - 1
  }

  /// Of the graphic control extension before the first frame.
  private var transparentColour: UInt8?

  private mutating func copyExtension() throws(ImageRefusal) {
    var code: Int32 = 0
    var block: UnsafeMutablePointer<UInt8>?
    // SAFETY: a block is a length and as many bytes, in the reader's buffer up to the next call.
    guard unsafe DGifGetExtension(reader, &code, &block) == GIF_OK else { throw .unreadable }
    var blocks: [[UInt8]] = []
    while let part = unsafe block {
      let count = unsafe Int(part[0])
      if blocks.count < 2 {
        unsafe blocks.append(Array(UnsafeBufferPointer(start: part + 1, count: count)))
      }
      guard unsafe DGifGetExtensionNext(reader, &block) == GIF_OK else { throw .unreadable }
    }
    let isDelay = code == GRAPHICS_EXT_FUNC_CODE && blocks.first?.count == 4
    let isLoop =
      code == APPLICATION_EXT_FUNC_CODE && blocks.count == 2 && blocks[1].count == 3
      && blocks[0].elementsEqual("NETSCAPE2.0".utf8)
    guard isDelay || isLoop else { return }
    if isDelay, frames == 0 {
      transparentColour = blocks[0][0] & 1 == 1 ? blocks[0][3] : nil
    }
    // SAFETY: the bytes outlive the calls.
    var result = unsafe EGifPutExtensionLeader(writer, code)
    for bytes in isDelay ? [blocks[0]] : blocks where result == GIF_OK {
      result = unsafe EGifPutExtensionBlock(writer, Int32(bytes.count), bytes)
    }
    guard result == GIF_OK, unsafe EGifPutExtensionTrailer(writer) == GIF_OK else {
      throw .unreadable
    }
  }

  // MARK: Callbacks

  private static let readGIF: InputFunc = { file, room, count in
    // SAFETY: the owner was given by `init`; giflib has room for `count` bytes.
    guard let owner = unsafe file?.pointee.UserData, let room = unsafe room else { return 0 }
    let files = unsafe Unmanaged<Files>.fromOpaque(owner).takeUnretainedValue()
    let taken = min(Int(count), files.input.count - files.position)
    for index in 0..<taken { unsafe room[index] = files.input[files.position + index] }
    files.position += taken
    return Int32(taken)
  }

  private static let writeGIF: OutputFunc = { file, bytes, count in
    // SAFETY: as above.
    guard let owner = unsafe file?.pointee.UserData else { return 0 }
    let files = unsafe Unmanaged<Files>.fromOpaque(owner).takeUnretainedValue()
    unsafe files.output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
    return count
  }
}

/// The colours of a frame; a missing one is black.
private struct Colours {
  private var table = [UInt8](repeating: 0, count: 256 * 4)

  init(_ map: UnsafeMutablePointer<ColorMapObject>?, transparent: UInt8?) {
    for index in 0..<256 { table[4 * index + 3] = transparent.map { Int($0) } == index ? 0 : 255 }
    // SAFETY: the map has `ColorCount` colours.
    guard let map = unsafe map?.pointee, let colours = unsafe map.Colors else { return }
    for index in unsafe 0..<min(256, max(0, Int(map.ColorCount))) {
      let colour = unsafe colours[index]
      table[4 * index] = colour.Red
      table[4 * index + 1] = colour.Green
      table[4 * index + 2] = colour.Blue
    }
  }

  /// - Parameter row: has four bytes for each pixel of the line.
  func paint(_ line: [UInt8], _ row: UnsafeMutablePointer<UInt8>?) {
    guard let row = unsafe row else { return }
    for (x, index) in line.enumerated() {
      // SAFETY: see above.
      for part in 0..<4 { unsafe row[4 * x + part] = table[4 * Int(index) + part] }
    }
  }
}
