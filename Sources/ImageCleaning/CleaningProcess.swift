/// The process that cleans one image: `chirrup clean-image FORMAT`, started by `ImageCleaner`.
///
/// A fault of a decoder must not reach the gateway, so this process gives up everything before it
/// reads the first byte: limits of memory, time and written bytes, no further descriptor, and no
/// system call but those of reading, writing, memory and exit. It has the image as its standard
/// input, writes one line to its standard output, and the two files to descriptors 3 and 4.
import CImageCodecs

public enum CleaningProcess {
  public static let command = "clean-image"
  static let imageDescriptor: Int32 = 3
  static let thumbnailDescriptor: Int32 = 4
  /// Exit status when the kernel does not confine the process.
  static let notConfined: Int32 = 3

  /// Runs as that process if the command line says so; then it does not return.
  public static func runIfWanted(_ arguments: [String]) {
    guard arguments.count == 3, arguments[1] == command,
      let format = ImageFormat(rawValue: arguments[2])
    else { return }
    guard confine() else { exit(notConfined) }
    let line: String
    do throws(ImageRefusal) {
      let files = try Codec.clean(try readInput(), format)
      try write(files.image, to: imageDescriptor)
      try write(files.thumbnail, to: thumbnailDescriptor)
      line = "cleaned \(files.width) \(files.height) \(files.image.count)\n"
    } catch {
      line = "refused \(error.rawValue)\n"
    }
    do throws(ImageRefusal) { try write(Array(line.utf8), to: 1) } catch { exit(1) }
    // Not exit: its handlers are for a process that may do more.
    _exit(0)
  }

  private static func confine() -> Bool {
    let limits: [(UInt32, UInt64)] = [
      (RLIMIT_AS.rawValue, ImageLimits.addressBytes),
      (RLIMIT_CPU.rawValue, ImageLimits.processorSeconds),
      (RLIMIT_FSIZE.rawValue, ImageLimits.writtenBytes), (RLIMIT_CORE.rawValue, 0),
      (RLIMIT_NOFILE.rawValue, 0),
    ]
    for (resource, value) in limits where chirrup_limit(Int32(resource), value) != 0 {
      return false
    }
    // Nothing in this process can stop the alarm afterwards.
    _ = alarm(ImageLimits.wallSeconds)
    return chirrup_confine() == 0
  }

  private static func readInput() throws(ImageRefusal) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      // SAFETY: at most the size of the array is written.
      let count = unsafe read(0, &piece, piece.count)
      if count == 0 { return bytes }
      guard count > 0 else { throw .unreadable }
      bytes.append(contentsOf: piece[..<count])
      guard bytes.count <= ImageLimits.fileBytes else { throw .tooLarge }
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(ImageRefusal) {
    var written = 0
    while written < bytes.count {
      // SAFETY: the rest of the array is read.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe CImageCodecs.write(
          descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      guard count > 0 else { throw .tooLarge }
      written += count
    }
  }
}
