/// One direction of a traced connection: its frames, and the lines of a trace about them. Of a text
/// only names, ids and numbers of the protocol are kept.
import Chat
import Compression
import JSON
import Primitives
import REST
import Wire

struct TraceFrames {
  /// Commands of one message that are lines; the rest of the message is one more.
  static let commandsMax = 16
  /// Longer deflated texts have no type in the trace.
  static let inflatedBytesMax = 262_144

  private struct Frame {
    var name: String
    var payload: [UInt8] = []
    var isText = false
    var isDeflated = false
    var code: CloseCode?
  }

  private var decoder: MessageDecoder
  private let isInput: Bool

  init(input decoder: MessageDecoder) {
    self.decoder = decoder
    // The engine checks the input.
    self.decoder.limits = TraceFrames.limits
    isInput = true
  }

  init(outputDeflated allowsDeflated: Bool) {
    decoder = MessageDecoder(
      role: .client, limits: TraceFrames.limits, allowsDeflated: allowsDeflated)
    isInput = false
  }

  /// No limits of their own: the bytes are in memory already.
  private static let limits = MessageLimits(messageBytes: 1 << 30, fragments: 1 << 20)

  /// The lines about the frames that end in these bytes.
  mutating func lines(
    of bytes: some Sequence<UInt8>, _ connection: Identifier, at time: WallTime
  ) -> [TraceLine] {
    let empty = TraceLine(at: time, connection: connection, kind: isInput ? .received : .sent)
    return frames(in: Array(bytes)).flatMap { frame in
      var line = empty
      line.frame = frame.name
      line.bytes = frame.payload.count
      line.isDeflated = frame.isDeflated
      line.code = frame.code.map { "\($0.rawValue)" }
      guard frame.isText, let text = frame.isDeflated ? inflated(frame.payload) : frame.payload
      else { return [line] }
      return isInput ? commands(in: text, line) : [event(text, line)]
    }
  }

  private mutating func frames(in bytes: [UInt8]) -> [Frame] {
    var bytes = bytes
    var found: [Frame] = []
    var decoder = decoder
    bytes.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount, let step = try? decoder.next(&buffer, offset: &offset) {
        guard let frame = TraceFrames.frame(step, buffer.bytes, decoder) else { return }
        found.append(frame)
      }
    }
    self.decoder = decoder
    return found
  }

  private static func frame(
    _ step: MessageDecoder.Step, _ bytes: RawSpan, _ decoder: MessageDecoder
  ) -> Frame? {
    func payload(_ place: MessageDecoder.Location) -> [UInt8] {
      var copy: [UInt8] = []
      switch place {
      case .inPlace(let range): copy.append(bytes.extracting(range))
      case .assembled: decoder.withAssembled { copy.append($0) }
      }
      return copy
    }
    func message(_ opcode: Opcode, _ place: MessageDecoder.Location) -> Frame {
      Frame(
        name: opcode == .text ? "text" : "binary", payload: payload(place), isText: opcode == .text)
    }
    switch step {
    case .needMoreBytes: return nil
    case .message(let opcode, let place): return message(opcode, place)
    case .deflatedMessage(let opcode, let place):
      var frame = message(opcode, place)
      frame.isDeflated = true
      return frame
    case .ping(let place): return Frame(name: "ping", payload: payload(place))
    case .pong(let place): return Frame(name: "pong", payload: payload(place))
    case .close(let code, let place):
      return Frame(name: "close", payload: payload(place), code: code)
    }
  }

  /// Nil if the text refers to earlier ones, whose context the trace does not have.
  private func inflated(_ payload: [UInt8]) -> [UInt8]? {
    var inflater = Inflater(windowBits: 15)
    var text: [UInt8] = []
    do throws(InflateFault) {
      try payload.withRawSpan { (bytes) throws(InflateFault) in
        try inflater.inflate(
          bytes, keepsContext: false, limit: TraceFrames.inflatedBytesMax, to: &text)
      }
    } catch {
      return nil
    }
    return text
  }

  private func commands(in text: [UInt8], _ frame: TraceLine) -> [TraceLine] {
    text.withRawSpan { text in
      var decoder = CommandDecoder()
      var lines: [TraceLine] = []
      var end = 0
      while lines.count < TraceFrames.commandsMax {
        var line = frame
        do throws(CommandFault) {
          guard let command = try decoder.next(text) else { return lines.isEmpty ? [line] : lines }
          line.type = command.type?.text.description ?? "unknown"
          line.session = command.session
          line.seq = command.seq
          line.bytes = decoder.range.count
          end = decoder.range.upperBound
        } catch {
          line.type = "unreadable"
          decoder.skipLine(text)
        }
        lines.append(line)
      }
      var rest = frame
      rest.type = "more"
      rest.bytes = text.byteCount - end
      return lines + [rest]
    }
  }

  /// Events are ours, so `type` and `code` are words of the protocol.
  private func event(_ text: [UInt8], _ frame: TraceLine) -> TraceLine {
    var line = frame
    line.bytes = text.count
    guard let event = JSONValue(text) else { return line }
    line.type = event["type"]?.string
    line.session = event["session"]?.string.flatMap { Identifier($0) }
    line.seq = event["seq"]?.int.map { Int64($0) }
    if line.type == "error" { line.code = event["code"]?.string }
    return line
  }
}
