/// The process that cleans one image: `chirrup clean-image FORMAT`, started by `ImageCleaner`.
///
/// A fault of a decoder must not reach the gateway, so this process gives up everything before it
/// reads the first byte, see `ConfinedProcess`. It has the image as its standard input, writes one
/// line to its standard output, and the two files to descriptors 3 and 4.
import Confinement

public enum CleaningProcess {
  public static let command = "clean-image"
  static let imageDescriptor: Int32 = 3
  static let thumbnailDescriptor: Int32 = 4
  /// Runs as that process if the command line says so; then it does not return.
  public static func runIfWanted(_ arguments: [String]) {
    guard arguments.count == 3, arguments[1] == command,
      let format = ImageFormat(rawValue: arguments[2])
    else { return }
    guard ConfinedProcess.confine(ImageLimits.process) else {
      ConfinedProcess.end(ConfinedProcess.notConfined)
    }
    let line: String
    do throws(ImageRefusal) {
      let files = try Codec.clean(try readInput(), format)
      try write(files.image, to: imageDescriptor)
      try write(files.thumbnail, to: thumbnailDescriptor)
      line = "cleaned \(files.width) \(files.height) \(files.image.count)\n"
    } catch {
      line = "refused \(error.rawValue)\n"
    }
    ConfinedProcess.end(ConfinedProcess.write(Array(line.utf8), to: 1) ? 0 : 1)
  }

  private static func readInput() throws(ImageRefusal) -> [UInt8] {
    do throws(ConfinedProcess.InputFault) {
      return try ConfinedProcess.readInput(atMost: ImageLimits.fileBytes)
    } catch {
      throw error == .tooLarge ? .tooLarge : .unreadable
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(ImageRefusal) {
    guard ConfinedProcess.write(bytes, to: descriptor) else { throw .tooLarge }
  }
}
