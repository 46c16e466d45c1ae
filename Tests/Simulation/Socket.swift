import Engine
import Primitives
import Wire

/// One TCP connection between a client and the gateway: bytes arrive in order, late, in pieces of
/// any size; each side may lose it at any moment; the gateway's side takes only so many unsent
/// bytes.
final class Socket {
  unowned let run: Run
  let client: Client
  /// The loop that has it, and its place there; nil while it moves or after it was closed.
  var loop: GatewayLoop?
  var slot: ConnectionID?

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
  /// What the client has not read since it stopped reading.
  private var unread: [[UInt8]] = []
  private(set) var isClosed = false

  /// Reads what leaves the engine, for the checker.
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

  /// Reads again what piled up.
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

  /// FIFO: nothing overtakes what was sent before it.
  private func schedule(_ last: inout Int64, _ body: @escaping (Socket) -> Void) {
    let arrival = max(
      last, run.agenda.microseconds + Int64(run.dice.delay(typical: run.networkDelay)))
    last = arrival
    run.agenda.after(microseconds: Int(arrival - run.agenda.microseconds)) { body(self) }
  }

  // MARK: The gateway's side

  /// At most so many bytes, as `recv` would give them.
  func takeIncoming() -> [UInt8] {
    let count = run.dice.onceIn(8) ? 1 + run.dice.below(incoming.count) : incoming.count
    let taken = Array(incoming.prefix(count))
    incoming.removeFirst(count)
    return taken
  }

  /// How many of the bytes the kernel took.
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

  /// The gateway closes it: what it sent still arrives.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    loop = nil
    slot = nil
    schedule(&lastDelivery) { $0.client.ended($0) }
  }

  /// The network or the gateway's death: what was under way is lost.
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
