/// A client's outgoing commands as consecutive JSON texts; the connection makes a frame of each.
import Primitives

struct CommandBuffer {
  private(set) var bytes: [UInt8] = []
  /// The end of each text in `bytes`.
  private(set) var ends: [Int] = []

  var isEmpty: Bool { ends.isEmpty }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  /// Appends any text.
  mutating func text(_ text: StaticString) {
    bytes.append(text)
    ends.append(bytes.count)
  }

  mutating func hello(ref: Int, token: String) {
    bytes.append("{\"type\":\"hello\",\"ref\":")
    bytes.append(decimal: Int64(ref))
    bytes.append(",\"client\":{\"name\":\"chirrup-load\",\"version\":\"1\"},\"token\":\"")
    bytes.append(token)
    bytes.append("\"}")
    ends.append(bytes.count)
  }

  mutating func subscribe(ref: Int, session: Identifier, after: Int, epoch: String) {
    bytes.append("{\"type\":\"subscribe\",\"ref\":")
    bytes.append(decimal: Int64(ref))
    bytes.append(",\"session\":\"")
    session.appendText(to: &bytes)
    bytes.append("\",\"after\":")
    bytes.append(decimal: Int64(after))
    if !epoch.isEmpty {
      bytes.append(",\"epoch\":\"")
      bytes.append(epoch)
      bytes.append("\"")
    }
    bytes.append("}")
    ends.append(bytes.count)
  }

  mutating func send(ref: Int, session: Identifier, id: Identifier, bodies: Bodies) {
    bytes.append("{\"type\":\"send\",\"ref\":")
    bytes.append(decimal: Int64(ref))
    bytes.append(",\"session\":\"")
    session.appendText(to: &bytes)
    bytes.append("\",\"id\":\"")
    id.appendText(to: &bytes)
    bytes.append("\",\"body\":\"")
    bodies.appendEscapedBody(of: id, to: &bytes)
    bytes.append("\"}")
    ends.append(bytes.count)
  }

  mutating func pong() {
    bytes.append("{\"type\":\"pong\"}")
    ends.append(bytes.count)
  }
}
