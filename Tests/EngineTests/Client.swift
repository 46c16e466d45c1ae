import Chat
import Compression
import Engine
import Primitives
import Wire

/// The peer of one connection. It sends masked frames to the engine and decodes the engine's
/// output.
final class Client {
  enum Received: Equatable {
    case text(String)
    case binary(Int)
    case pong(String)
    case close(UInt16?)
  }

  unowned let world: World
  var loop: Int
  var connection: ConnectionID
  private var decoder: MessageDecoder
  private let deflate: DeflateAgreement?
  private var inflater: Inflater
  private var deflater: Deflater
  /// The payload size of each deflated message, in the order of their receipt.
  private(set) var deflatedCounts: [Int] = []

  init(world: World, loop: Int, connection: ConnectionID, deflate: DeflateAgreement? = nil) {
    self.world = world
    self.loop = loop
    self.connection = connection
    self.deflate = deflate
    decoder = MessageDecoder(
      role: .client, limits: MessageLimits(messageBytes: 1 << 24, fragments: 1 << 20),
      allowsDeflated: deflate != nil)
    // The negotiated windows, so that a larger one in use is an error.
    inflater = Inflater(windowBits: Int(deflate?.serverWindowBits ?? 15))
    deflater = Deflater(
      level: 6, windowBits: max(9, Int(deflate?.clientWindowBits ?? 15)), memoryLevel: 8)
    world.register(self)
  }

  /// Sends a deflated text in one frame, or in two.
  func sendDeflated(_ text: String, opcode: Opcode = .text, isCut: Bool = false) {
    var payload: [UInt8] = []
    Array(text.utf8).withRawSpan {
      deflater.deflate($0, keepsContext: deflate?.clientForgets == false, to: &payload)
    }
    sendDeflated(payload, opcode: opcode, isCut: isCut)
  }

  func sendDeflated(_ payload: [UInt8], opcode: Opcode = .text, isCut: Bool = false) {
    var bytes: [UInt8] = []
    let middle = isCut ? payload.count / 2 : payload.count
    Array(payload[..<middle]).withRawSpan {
      FrameEncoder.appendMaskedFrame(opcode, payload: $0, maskKey: 7, to: &bytes)
    }
    bytes[0] = (isCut ? 0x40 : 0xC0) | opcode.rawValue
    if isCut {
      Array(payload[middle...]).withRawSpan {
        FrameEncoder.appendMaskedFrame(.continuation, payload: $0, maskKey: 9, to: &bytes)
      }
    }
    send(bytes)
  }

  private func inflate(_ payload: [UInt8]) -> [UInt8] {
    deflatedCounts.append(payload.count)
    var text: [UInt8] = []
    payload.withRawSpan { span in
      try? inflater.inflate(
        span, keepsContext: deflate?.serverForgets == false, limit: 1 << 24, to: &text)
    }
    return text
  }

  func send(_ text: String, opcode: Opcode = .text) {
    var bytes: [UInt8] = []
    Array(text.utf8).withRawSpan {
      FrameEncoder.appendMaskedFrame(opcode, payload: $0, maskKey: 0x1234_5678, to: &bytes)
    }
    send(bytes)
  }

  /// Sends the command `send`, by default with a new id. `body` is not escaped.
  func post(
    _ body: String, to session: Identifier, id: Identifier? = nil, kind: String? = nil, ref: Int = 1
  ) {
    let kind = kind.map { #","kind":"\#($0)""# } ?? ""
    let id = id ?? world.makeID()
    send(
      #"{"type":"send","ref":\#(ref),"session":"\#(session)","id":"\#(id)"\#(kind),"#
        + #""body":"\#(body)"}"#)
  }

  func send(_ bytes: [UInt8]) {
    var bytes = bytes
    bytes.withMutableRawSpan { world.loops[loop].engine.receive(connection.index, &$0) }
  }

  /// Decodes all output of the connection.
  func receive() -> [Received] {
    var output: [UInt8] = []
    for _ in 0..<100 {
      let before = output.count
      world.loops[loop].engine.settleSessions()
      world.loops[loop].engine.collect(connection.index, into: &output)
      world.settle()
      if output.count == before { break }
    }
    var received: [Received] = []
    output.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        guard let step = try? decoder.next(&buffer, offset: &offset) else { return }
        func bytes(_ location: MessageDecoder.Location) -> [UInt8] {
          var copy: [UInt8] = []
          switch location {
          case .inPlace(let range): copy.append(buffer.bytes.extracting(range))
          case .assembled: copy = decoder.takeAssembled()
          }
          return copy
        }
        func text(_ location: MessageDecoder.Location) -> String {
          switch location {
          case .inPlace(let range): buffer.bytes.extracting(range).string
          case .assembled: decoder.withAssembled { $0.string }
          }
        }
        switch step {
        case .needMoreBytes: return
        case .message(.text, let location): received.append(.text(text(location)))
        case .deflatedMessage(let opcode, let location):
          let whole = inflate(bytes(location))
          received.append(
            opcode == .text ? .text(String(decoding: whole, as: UTF8.self)) : .binary(whole.count))
        case .message(_, let location): received.append(.binary(text(location).utf8.count))
        case .ping: continue
        case .pong(let location): received.append(.pong(text(location)))
        case .close(let code, _): received.append(.close(code?.rawValue))
        }
      }
    }
    return received
  }

  /// The received text messages.
  func texts() -> [String] {
    receive().compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  func types() -> [String] { texts().map { field("type", of: $0) } }
}

/// The text of a field's value in flat JSON; empty when it is missing.
func field(_ name: String, of json: String) -> String {
  guard let start = json.firstRange(of: "\"\(name)\":") else { return "" }
  let rest = json[start.upperBound...]
  if rest.first == "\"" { return String(rest.dropFirst().prefix { $0 != "\"" }) }
  return String(rest.prefix { $0 != "," && $0 != "}" })
}
