import Chat
import JSON
import Primitives

/// Commands and events: decoding and encoding JSON.
extension Work {
  static let texts = [
    Work("command-send", "a `send` of 128 bytes and its body decoded") { CommandReading() },
    Work("event-message", "a `message` of 128 bytes encoded") { EventWriting() },
    Work("event-ack", "an `ack` encoded") { AckWriting() },
  ]
}

let sampleSession = Identifier(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0001)
let sampleBody = String(repeating: "Is it in stock? ", count: 8)

func sendCommand(_ session: Identifier, _ id: Identifier) -> String {
  #"{"type":"send","ref":12,"session":"\#(session)","id":"\#(id)","body":"\#(sampleBody)"}"#
}

struct CommandReading: Workload, ~Copyable {
  private let text = Array(sendCommand(sampleSession, sampleSession).utf8)
  private var body: [UInt8] = []

  mutating func run(_ count: Int) {
    text.withRawSpan { span in
      for _ in 0..<count {
        var decoder = CommandDecoder()
        body.removeAll(keepingCapacity: true)
        guard let command = try? decoder.next(span), let token = command.body,
          (try? JSONText.decode(token, in: span, to: &body)) != nil, body.count == 128
        else { preconditionFailure("the workload's command is valid") }
      }
    }
  }
}

struct EventWriting: Workload, ~Copyable {
  private let name = Array("Ada Lovelace".utf8)
  private let body = Array(sampleBody.utf8)
  private var output: [UInt8] = []

  mutating func run(_ count: Int) {
    let at = WallTime(microseconds: 1_795_000_000_123_000)
    name.withRawSpan { name in
      body.withRawSpan { body in
        for turn in 0..<count {
          output.removeAll(keepingCapacity: true)
          EventEncoder.message(
            session: sampleSession, seq: Int64(100 + turn % 100), id: sampleSession,
            role: .visitor, kind: .text, sender: sampleSession, senderName: name, body: body,
            payload: RawSpan(), at: at, to: &output)
        }
      }
    }
  }
}

struct AckWriting: Workload, ~Copyable {
  private var output: [UInt8] = []

  mutating func run(_ count: Int) {
    let at = WallTime(microseconds: 1_795_000_000_123_000)
    for turn in 0..<count {
      output.removeAll(keepingCapacity: true)
      EventEncoder.ack(
        ref: .none, session: sampleSession, id: sampleSession, seq: Int64(100 + turn % 100),
        at: at, isDuplicate: false, to: &output)
    }
  }
}
