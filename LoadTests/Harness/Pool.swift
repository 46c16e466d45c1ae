/// Many connections on one epoll, opened a few at a time, for clients that do little: idle ones,
/// and the senders of `durable`.
import Kernel
import OpenSSL
import Primitives

/// Receives the pool's events. Connections are numbered from 0 in the order of opening.
protocol PoolDelegate: AnyObject {
  /// The handshake is done: the first commands can be sent.
  func opened(_ number: Int)
  func received(_ number: Int, _ text: RawSpan, _ now: Instant)
  func ended(_ number: Int, _ end: ConnectionEnd)
}

final class Pool {
  /// Output of the delegate, sent by `transmit` and at the end of every event.
  var commands = CommandBuffer()
  private let target: Target
  private let offersDeflate: Bool
  private let epoll: Epoll
  private let workspace = TLSWorkspace()
  private var events = Events(capacity: 1024)
  private var buffer = [UInt8](repeating: 0, count: 262_144)
  private var random = RandomStream(seed: Random.uint64())
  private var connections: [Connection?] = []

  /// Simultaneous connection attempts.
  private static let openingMax = 64

  init(target: Target, offersDeflate: Bool = false) throws(Errno) {
    self.target = target
    self.offersDeflate = offersDeflate
    epoll = try Epoll()
  }

  /// Opens more connections, up to `count`; `ready` of the opened ones are established.
  func begin(upTo count: Int, ready: Int) throws(Errno) {
    while connections.count < count, connections.count - ready < Pool.openingMax {
      let number = connections.count
      let connection = try Connection(
        client: number, target: target, offersDeflate: offersDeflate, workspace, random: &random)
      try connection.register(in: epoll, datum: UInt64(number))
      connections.append(connection)
    }
  }

  var begunCount: Int { connections.count }

  /// Waits for events and handles them.
  func turn(nanoseconds: Int64, _ owner: some PoolDelegate) throws(Errno) {
    try epoll.wait(into: &events, timeoutNanoseconds: nanoseconds)
    let now = SystemClock.now()
    for position in 0..<events.count {
      let event = events[position]
      let number = Int(event.datum)
      guard let connection = connections[number] else { continue }
      var outcome = Connection.Outcome.going
      if event.isWritable || event.isHungUp { outcome = connection.writable() }
      if outcome == .going, event.isReadable || event.isHungUp {
        outcome = connection.readable(&buffer) { text in
          owner.received(number, text, now)
          return true
        }
      }
      if outcome == .opened {
        owner.opened(number)
        outcome = .going
      }
      if case .ended(let end) = outcome {
        commands.removeAll()
        remove(number, end, owner)
      } else if !commands.isEmpty || event.isWritable || connection.hasUnsent {
        // The received bytes may have been part of a TLS handshake, which needs an answer.
        try transmit(number, owner)
      }
    }
  }

  /// Sends `commands` on one connection.
  func transmit(_ number: Int, _ owner: some PoolDelegate) throws(Errno) {
    guard let connection = connections[number] else {
      commands.removeAll()
      return
    }
    if !commands.isEmpty {
      connection.queue(commands, random: &random)
      commands.removeAll()
    }
    if case .ended(let end) = connection.flush() {
      remove(number, end, owner)
    } else {
      try connection.updateInterest(in: epoll, datum: UInt64(number))
    }
  }

  private func remove(_ number: Int, _ end: ConnectionEnd, _ owner: some PoolDelegate) {
    connections[number] = nil
    owner.ended(number, end)
  }
}
