/// A file without a name, in memory: the input of a confined process, or its output, which its
/// limit of written bytes bounds. So the bytes of strangers are on no disk.
import CConfinement
public import Kernel

public struct MemoryFile: ~Copyable {
  private let descriptor: FileDescriptor

  public init() throws(Errno) {
    let number = chirrup_memory_file()
    guard number >= 0 else { throw Errno(rawValue: chirrup_confinement_error()) }
    descriptor = FileDescriptor(owning: number)
  }

  /// With these bytes, to be read from the first one on.
  public static func of(_ bytes: [UInt8]) throws(Errno) -> MemoryFile {
    let file = try MemoryFile()
    guard ConfinedProcess.write(bytes, to: file.rawValue), lseek(file.rawValue, 0, SEEK_SET) == 0
    else { throw Errno(rawValue: chirrup_confinement_error()) }
    return file
  }

  public var rawValue: Int32 { descriptor.rawValue }

  /// The bytes; nil if there are more than that.
  public func contents(atMost bytesMax: Int) -> [UInt8]? {
    let count = Int(lseek(descriptor.rawValue, 0, SEEK_END))
    guard (0...bytesMax).contains(count), lseek(descriptor.rawValue, 0, SEEK_SET) == 0 else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: count)
    var place = 0
    while place < count {
      // SAFETY: the rest of the array is written.
      let got = unsafe bytes.withUnsafeMutableBytes { room in
        unsafe read(descriptor.rawValue, room.baseAddress?.advanced(by: place), count - place)
      }
      guard got > 0 else { return nil }
      place += got
    }
    return bytes
  }
}
