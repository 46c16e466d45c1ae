/// Sends files to clamd for a verdict (clamd(8), INSTREAM). Each scan is a connection of its own,
/// with one time limit for all of it. Blocks: for worker threads.
public import Kernel
import Primitives

/// No verdict: the scanner is down, refuses the file, or takes too long.
public struct ScanFault: Error, Equatable, Sendable, CustomStringConvertible {
  public var description: String
}

public struct ClamClient: Sendable {
  /// The bytes of a file that are in memory at a time.
  static let pieceBytes = 65_536

  public let address: ClamAddress
  /// The time limit of a scan.
  public let milliseconds: Int64

  public init(address: ClamAddress, milliseconds: Int64) {
    self.address = address
    self.milliseconds = milliseconds
  }

  public func scan(_ file: ReadableFile) throws(ScanFault) -> ScanVerdict {
    var talk = try ClamTalk.open(address, milliseconds: milliseconds)
    // A scanner that refuses the rest of the stream closes it, so the answer counts first.
    let interruption = stream(file, over: &talk)
    let line: [UInt8]
    do throws(ScanFault) { line = try talk.receiveLine() } catch { throw interruption ?? error }
    switch ClamAnswer(line) {
    case .infected(let name): return .infected(name)
    case .refused(let reason): throw ScanFault(description: "not scanned: \(reason)")
    case .clean:
      // “Clean” can only be said about the whole file.
      if let interruption { throw interruption }
      return .clean
    }
  }

  /// The scanner's version and that of its database.
  public func version() throws(ScanFault) -> String {
    var talk = try ClamTalk.open(address, milliseconds: milliseconds)
    try talk.send(Array("zVERSION\0".utf8))
    return ClamAnswer.printable(try talk.receiveLine())
  }

  /// Returns why not all was sent.
  private func stream(_ file: ReadableFile, over talk: inout ClamTalk) -> ScanFault? {
    do throws(ScanFault) {
      try talk.send(Array("zINSTREAM\0".utf8))
      var position: Int64 = 0
      while position < file.byteCount {
        let wanted = Int(min(Int64(ClamClient.pieceBytes), file.byteCount - position))
        let piece: [UInt8]
        do throws(Errno) { piece = try file.bytes(at: position, count: wanted) } catch {
          throw ScanFault(description: "the file cannot be read: \(error)")
        }
        guard piece.count == wanted else { throw ScanFault(description: "the file was shortened") }
        try talk.send(ClamClient.length(piece.count) + piece)
        position += Int64(wanted)
      }
      try talk.send(ClamClient.length(0))
      return nil
    } catch {
      return error
    }
  }

  /// Four bytes in network order before each piece; zero ends the stream.
  private static func length(_ count: Int) -> [UInt8] {
    [
      UInt8(truncatingIfNeeded: count >> 24), UInt8(truncatingIfNeeded: count >> 16),
      UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count),
    ]
  }
}
