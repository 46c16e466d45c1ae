/// Reads the data of server-sent events (WHATWG HTML §9.2.6) from bytes that come in any pieces.
///
/// The names of events, their ids and `retry` are ignored: chat completions use none. Bounds:
/// `dataBytesMax` for one event, also for a line without end.
public struct EventStream: Sendable {
  public static let dataBytesMax = 65_536

  public enum Fault: Error, Equatable, Sendable { case tooLong }

  private var line: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  /// The last byte was a carriage return: a line feed after it belongs to the same line end.
  private var isAfterReturn = false
  private var isAtStart = true

  public init() {}

  /// - Returns: the data of the events that end in these bytes.
  public mutating func push(_ bytes: [UInt8]) throws(Fault) -> [[UInt8]] {
    var events: [[UInt8]] = []
    for byte in bytes {
      defer { isAfterReturn = byte == 0x0D }
      switch byte {
      case 0x0A where isAfterReturn: continue
      case 0x0A, 0x0D: if let event = endLine() { events.append(event) }
      default:
        guard line.count + data.count < EventStream.dataBytesMax else { throw .tooLong }
        line.append(byte)
      }
    }
    return events
  }

  /// - Returns: the data of the event that a blank line ends.
  private mutating func endLine() -> [UInt8]? {
    defer { line.removeAll(keepingCapacity: true) }
    if isAtStart {
      isAtStart = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    guard !line.isEmpty else {
      defer {
        data = []
        hasData = false
      }
      return hasData ? data : nil
    }
    // A line without a colon is a field without value; one that begins with it is a comment.
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    guard name.elementsEqual("data".utf8) else { return nil }
    var value = line.dropFirst(name.count + 1)
    if value.first == UInt8(ascii: " ") { value.removeFirst() }
    if hasData { data.append(0x0A) }
    hasData = true
    data += value
    return nil
  }
}
