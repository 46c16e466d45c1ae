/// Reads an answer of clamd (clamd(8)): a line that ends with NUL. Pure.
import Primitives

public enum ScanVerdict: Equatable, Sendable {
  case clean
  /// The name of the signature, from the scanner's database.
  case infected(String)
}

public enum ClamAnswer: Equatable, Sendable {
  case clean
  case infected(String)
  /// Not scanned, for example because the file is larger than clamd's `StreamMaxLength`.
  case refused(String)

  /// The most bytes of an answer; longer ones are refused.
  public static let bytesMax = 1_024
  /// The longest name of a signature that is kept.
  public static let nameBytesMax = 100

  /// - Parameter line: without the NUL.
  public init(_ line: [UInt8]) {
    var text = ClamAnswer.printable(line)
    if text.hasPrefix("stream: ") { text.removeFirst(8) }
    if text == "OK" {
      self = .clean
    } else if text.hasSuffix(" FOUND"), text.utf8.count > 6 {
      self = .infected(String(text.dropLast(6).prefix(ClamAnswer.nameBytesMax)))
    } else {
      self = .refused(String(text.prefix(ClamAnswer.nameBytesMax)))
    }
  }

  /// The answer goes into logs, so that other bytes than printable ASCII become `?`.
  static func printable(_ line: [UInt8]) -> String {
    let bytes = line.prefix(bytesMax).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: bytes, as: UTF8.self)
  }
}
