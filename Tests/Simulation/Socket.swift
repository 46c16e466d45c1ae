import Engine
import Primitives
import Wire

/// A TCP connection between a client and the gateway. Bytes arrive in order, with a delay, in
/// pieces of any size. Each side may end it at any moment. The send buffer of the gateway's side is
/// limited.
final class Socket {
  unowned let run: Run
  let client: Client
  /// The loop and its connection; nil while the connection moves and after it was closed.
  var loop: GatewayLoop?
  var id: ConnectionID?

  // To the gateway.
  private(set) var incoming: [UInt8] = []
  private(set) var hasPeerEnded = false
  private var lastArrival: Int64 = 0
  var isPaused = false

  // To the client.
  private let sendBytesMax: Int
  private var unsent = 0
  private var waitsForRoom = false
  private var lastDelivery: Int64 = 0
  /// Output that arrived since the client stopped reading.
  private var unread: [[UInt8]] = []
  private(set) var isClosed = false

  /// Decodes the gateway's output for the checker.
  var auditor = MessageDecoder(
    role: .client, limits: MessageLimits(messageBytes: 1 << 24, fragments: 1))

  init(run: Run, client: Client) {
    self.run = run
    self.client = client
    sendBytesMax = [300, 2_000, 20_000, 200_000][run.dice.below(4)]
  }

  // MARK: The client's side

  func sendFromClient(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = run.dice.onceIn(4) ? 1 + run.dice.below(rest.count) : rest.count
      let piece = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      schedule(&lastArrival) { $0.arrive(piece) }
    }
  }

  func endFromClient() {
    schedule(&lastArrival) {
      $0.hasPeerEnded = true
      $0.loop?.wake()
    }
  }

  /// Delivers the output that arrived while the client did not read.
  func resumeReading() {
    let pieces = unread
    unread = []
    for piece in pieces { delivered(piece) }
  }

  private func arrive(_ piece: [UInt8]) {
    guard !isClosed else { return }
    incoming.append(contentsOf: piece)
    loop?.wake()
  }

  /// Schedules an arrival after the last one in the same direction.
  private func schedule(_ last: inout Int64, _ body: @escaping (Socket) -> Void) {
    let arrival = max(
      last, run.agenda.microseconds + Int64(run.dice.delay(typical: run.networkDelay)))
    last = arrival
    run.agenda.after(microseconds: Int(arrival - run.agenda.microseconds)) { body(self) }
  }

  // MARK: The gateway's side

  /// A random number of bytes, as from `recv`.
  func takeIncoming() -> [UInt8] {
    let count = run.dice.onceIn(8) ? 1 + run.dice.below(incoming.count) : incoming.count
    let taken = Array(incoming.prefix(count))
    incoming.removeFirst(count)
    return taken
  }

  /// Returns how many of the bytes the kernel took.
  func send(_ bytes: [UInt8]) -> Int {
    let count = min(bytes.count, max(0, sendBytesMax - unsent))
    waitsForRoom = count < bytes.count
    guard count > 0 else { return 0 }
    let piece = Array(bytes.prefix(count))
    unsent += count
    schedule(&lastDelivery) { $0.reach(piece) }
    return count
  }

  private func reach(_ piece: [UInt8]) {
    if client.isReading { delivered(piece) } else { unread.append(piece) }
  }

  private func delivered(_ piece: [UInt8]) {
    unsent -= piece.count
    if waitsForRoom, !isClosed {
      waitsForRoom = false
      loop?.becameWritable(self)
    }
    client.receive(piece, self)
  }

  /// The gateway closes the socket. Its output still arrives.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    loop = nil
    id = nil
    schedule(&lastDelivery) { $0.client.ended($0) }
  }

  /// The connection breaks. Bytes in flight are lost.
  func reset() {
    guard !isClosed else { return }
    isClosed = true
    hasPeerEnded = true
    let loop = loop
    run.agenda.after(microseconds: run.dice.delay(typical: 500)) { [self] in
      client.ended(self)
      loop?.wake()
    }
  }
}
