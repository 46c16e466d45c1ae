/// A process of this program that reads the bytes of strangers with a C library, such as one image
/// or one e-mail.
///
/// A fault of the library must not reach the gateway, so the process gives up everything before it
/// reads the first byte: limits of memory, time and written bytes, no further descriptor, and no
/// system call but those of reading, writing, memory and exit.
import CConfinement

public struct ConfinementLimits: Sendable {
  public var addressBytes: UInt64
  public var processorSeconds: UInt64
  /// Of each file that it writes.
  public var writtenBytes: UInt64
  /// On a busy machine the processor time takes several times as long.
  public var wallSeconds: UInt32

  public init(
    addressBytes: UInt64, processorSeconds: UInt64, writtenBytes: UInt64, wallSeconds: UInt32
  ) {
    self.addressBytes = addressBytes
    self.processorSeconds = processorSeconds
    self.writtenBytes = writtenBytes
    self.wallSeconds = wallSeconds
  }
}

public enum ConfinedProcess {
  /// Exit status when the kernel does not confine the process.
  public static let notConfined: Int32 = 3

  public enum InputFault: Error { case unreadable, tooLarge }

  /// False if the kernel does not do so.
  public static func confine(_ wanted: ConfinementLimits) -> Bool {
    let limits: [(UInt32, UInt64)] = [
      (RLIMIT_AS.rawValue, wanted.addressBytes), (RLIMIT_CPU.rawValue, wanted.processorSeconds),
      (RLIMIT_FSIZE.rawValue, wanted.writtenBytes), (RLIMIT_CORE.rawValue, 0),
      (RLIMIT_NOFILE.rawValue, 0),
    ]
    for (resource, value) in limits where chirrup_limit(Int32(resource), value) != 0 {
      return false
    }
    // Nothing in this process can stop the alarm afterwards.
    _ = alarm(wanted.wallSeconds)
    return chirrup_confine() == 0
  }

  /// The standard input.
  public static func readInput(atMost bytesMax: Int) throws(InputFault) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      // SAFETY: at most the size of the array is written.
      let count = unsafe read(0, &piece, piece.count)
      if count == 0 { return bytes }
      guard count > 0 else { throw .unreadable }
      bytes.append(contentsOf: piece[..<count])
      guard bytes.count <= bytesMax else { throw .tooLarge }
    }
  }

  /// False if the bytes do not fit.
  public static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var written = 0
    while written < bytes.count {
      // SAFETY: the rest of the array is read.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe CConfinement.write(
          descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      guard count > 0 else { return false }
      written += count
    }
    return true
  }

  /// Ends the process at once: the handlers of exit(3) are for a process that may do more.
  public static func end(_ status: Int32) -> Never { _exit(status) }
}
