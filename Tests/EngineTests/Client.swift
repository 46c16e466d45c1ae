import Chat
import Engine
import Primitives
import Wire

/// The other end of one connection: what it says goes in as masked frames, what it hears comes out
/// as frames.
final class Client {
  enum Heard: Equatable {
    case text(String)
    case binary(Int)
    case pong(String)
    case close(UInt16?)
  }

  unowned let world: World
  var loop: Int
  var slot: SlotID
  private var decoder = MessageDecoder(
    role: .client, limits: MessageLimits(messageBytes: 1 << 24, fragments: 1 << 20))

  init(world: World, loop: Int, slot: SlotID) {
    self.world = world
    self.loop = loop
    self.slot = slot
    world.register(self)
  }

  func say(_ text: String, opcode: Opcode = .text) {
    var bytes: [UInt8] = []
    Array(text.utf8).withRawSpan {
      FrameEncoder.appendMaskedFrame(opcode, payload: $0, maskKey: 0x1234_5678, to: &bytes)
    }
    send(bytes)
  }

  /// Says `send` under a new id, or under the given one. `body` is put in as it stands.
  func post(
    _ body: String, to session: Identifier, id: Identifier? = nil, kind: String? = nil, ref: Int = 1
  ) {
    let kind = kind.map { #","kind":"\#($0)""# } ?? ""
    let id = id ?? world.makeID()
    say(
      #"{"type":"send","ref":\#(ref),"session":"\#(session)","id":"\#(id)"\#(kind),"#
        + #""body":"\#(body)"}"#)
  }

  func send(_ bytes: [UInt8]) {
    var bytes = bytes
    bytes.withMutableRawSpan { world.loops[loop].engine.receive(Int(slot.index), &$0) }
  }

  /// Everything the connection may send now, decoded.
  func hear() -> [Heard] {
    var output: [UInt8] = []
    for _ in 0..<100 {
      let before = output.count
      world.loops[loop].engine.settleSessions()
      world.loops[loop].engine.collect(Int(slot.index), into: &output)
      world.settle()
      if output.count == before { break }
    }
    var heard: [Heard] = []
    output.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        guard let step = try? decoder.next(&buffer, offset: &offset) else { return }
        func text(_ location: MessageDecoder.Location) -> String {
          switch location {
          case .inPlace(let range): buffer.bytes.extracting(range).string
          case .assembled: decoder.withAssembled { $0.string }
          }
        }
        switch step {
        case .needMoreBytes: return
        case .message(.text, let location): heard.append(.text(text(location)))
        case .message(_, let location): heard.append(.binary(text(location).utf8.count))
        case .ping: continue
        case .pong(let location): heard.append(.pong(text(location)))
        case .close(let code, _): heard.append(.close(code?.rawValue))
        }
      }
    }
    return heard
  }

  /// The texts only, each shortened to its type and the fields named.
  func texts() -> [String] {
    hear().compactMap { if case .text(let text) = $0 { text } else { nil } }
  }

  func types() -> [String] { texts().map { field("type", of: $0) } }
}

/// The value of a field of flat JSON, as it stands there; empty when it is missing.
func field(_ name: String, of json: String) -> String {
  guard let start = json.firstRange(of: "\"\(name)\":") else { return "" }
  let rest = json[start.upperBound...]
  if rest.first == "\"" { return String(rest.dropFirst().prefix { $0 != "\"" }) }
  return String(rest.prefix { $0 != "," && $0 != "}" })
}
