/// The traces that look for connections on a loop, and the connections that are traced. While there
/// are none, the bytes of all connections pass with one comparison.
import Chat
import Engine
import Kernel
import Primitives
import REST
import Wire

struct ConnectionTaps {
  private struct Tap {
    let name: Identifier
    var traces: [ConnectionTrace]
    var input: TraceFrames
    var output: TraceFrames
    /// The output up to here is in the trace. A full socket gets its rest once more.
    var position: UInt64
  }

  /// Whether a trace runs. Then all connections are looked up.
  private(set) var isOn = false
  private var traces: [ConnectionTrace] = []
  private var taps: [ConnectionIndex: Tap] = [:]

  // MARK: Begin

  mutating func start(_ trace: ConnectionTrace, _ connections: borrowing ConnectionTable) {
    traces.append(trace)
    isOn = true
    for connection in connections.open(workspace: trace.workspace, party: nil) {
      guard let tap = connections.tap(connection), trace.watches(tap.name, tap.member) else {
        continue
      }
      _ = add([trace], to: connection, tap, from: tap.queuedPosition)
    }
  }

  /// A connection whose token was verified, or that came from another loop, joins the traces of its
  /// member.
  mutating func join(
    _ connection: ConnectionIndex, as member: Member?, _ connections: borrowing ConnectionTable,
    _ turn: Turn
  ) {
    guard let tap = connections.tap(connection) else { return }
    let watching = traces.filter { trace in
      trace.watches(tap.name, member ?? tap.member)
        && taps[connection]?.traces.contains { $0 === trace } != true
    }
    guard !watching.isEmpty else { return }
    let line = TraceLine(at: turn.wall, connection: tap.name, kind: .opened)
    let new = watching.filter { $0.target != tap.name }
    for trace in new { trace.add(line) }
    guard add(watching, to: connection, tap, from: tap.position) else { return }
    // A trace of the connection itself has them already.
    pass(connection, tap.held, isInput: true, to: new, turn)
  }

  /// - Returns: whether the connection was not traced before.
  private mutating func add(
    _ traces: [ConnectionTrace], to connection: ConnectionIndex, _ tap: ConnectionTap,
    from position: UInt64
  ) -> Bool {
    guard taps[connection]?.name != tap.name else {
      taps[connection]?.traces += traces
      return false
    }
    taps[connection] = Tap(
      name: tap.name, traces: traces, input: TraceFrames(input: tap.decoder),
      output: TraceFrames(outputDeflated: tap.decoder.allowsDeflated), position: position)
    return true
  }

  // MARK: Bytes

  /// Call it before the engine gets the bytes at `range`, which it unmasks.
  @inline(never)  // keeps its reference counting out of the path of messages
  mutating func received(
    _ connection: ConnectionIndex, _ bytes: [UInt8], _ range: Range<Int>,
    _ connections: borrowing ConnectionTable, _ turn: Turn
  ) {
    guard let tap = taps[connection] else { return }
    guard connections.progress(of: connection)?.name == tap.name else { return leave(connection) }
    pass(connection, bytes[range], isInput: true, to: tap.traces, turn)
  }

  /// Call it with the output that the engine has collected.
  mutating func collected(
    _ connection: ConnectionIndex, _ bytes: [UInt8], _ connections: borrowing ConnectionTable,
    _ turn: Turn
  ) {
    guard let tap = taps[connection], !bytes.isEmpty else { return }
    guard let (name, end) = connections.progress(of: connection), name == tap.name else {
      return leave(connection)
    }
    let start = end &- UInt64(bytes.count)
    let seen = tap.position > start ? Int(min(tap.position - start, UInt64(bytes.count))) : 0
    taps[connection]?.position = max(end, tap.position)
    pass(
      connection, ConnectionTaps.withoutResponse(bytes[seen...]), isInput: false,
      to: tap.traces, turn)
  }

  /// The response to the upgrade precedes the frames. No frame of ours begins with an ASCII byte.
  private static func withoutResponse(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let first = bytes.first, first < 0x80 else { return bytes }
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return [] }
    return bytes[end.upperBound...]
  }

  private mutating func pass(
    _ connection: ConnectionIndex, _ bytes: some Sequence<UInt8>, isInput: Bool,
    to traces: [ConnectionTrace], _ turn: Turn
  ) {
    guard var tap = taps[connection] else { return }
    let lines =
      isInput
      ? tap.input.lines(of: bytes, tap.name, at: turn.wall)
      : tap.output.lines(of: bytes, tap.name, at: turn.wall)
    taps[connection] = tap
    for line in lines { for trace in traces { trace.add(line) } }
  }

  // MARK: End

  /// The connection moves to another loop, where it joins again.
  mutating func leave(_ connection: ConnectionIndex) { taps[connection] = nil }

  mutating func ended(_ record: ConnectionRecord, _ turn: Turn) {
    guard let (connection, tap) = taps.first(where: { $0.value.name == record.id }) else { return }
    leave(connection)
    var line = TraceLine(at: turn.wall, connection: record.id, kind: .ended)
    line.code = record.end.map { "\($0.code)" }
    line.reason = record.end.map { "\($0.reason) (\($0.side))" }
    for trace in tap.traces {
      trace.add(line)
      if trace.target == record.id { trace.end("the connection ended", now: turn.now) }
    }
  }

  /// With each sweep: forgets the traces that have ended.
  mutating func sweep(_ turn: Turn) {
    for trace in traces { trace.expire(now: turn.now) }
    traces.removeAll { $0.endedAt != nil }
    for connection in taps.keys {
      taps[connection]?.traces.removeAll { $0.endedAt != nil }
      if taps[connection]?.traces.isEmpty == true { leave(connection) }
    }
    isOn = !traces.isEmpty
  }

  /// The loop ends.
  mutating func end(_ turn: Turn) {
    for trace in traces { trace.end("the gateway stops", now: turn.now) }
  }
}

extension ConnectionTrace {
  /// - Parameter member: nil before its token is verified; then only the operator of the instance
  ///   sees the connection.
  fileprivate func watches(_ name: Identifier, _ member: Member?) -> Bool {
    (workspace == nil || workspace == member?.workspace)
      && (target == name || target == member?.person.id)
  }
}
