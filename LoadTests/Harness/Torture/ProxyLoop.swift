/// The fault proxy's thread: accepts and opens connections, forwards bytes, and injects faults.
import Kernel
import Primitives
import Synchronization

final class ProxyLoop {
  let ports: [UInt16]
  private let listeners: [ListenerBox]
  private let target: FaultProxy.Endpoint
  private let control: ProxyControl
  private let epoll: Epoll
  private var events = Events(capacity: 256)
  private var links: [ProxyLink?] = []
  private var generations: [UInt32] = []
  private var free: [Int] = []
  private var scratch = [UInt8](repeating: 0, count: 16_384)
  private var random: RandomStream

  static let linksMax = 4_096
  /// The time that a server gets to process the bytes before a cut.
  private static let afterglowMilliseconds: Int64 = 30
  private static let napRange: ClosedRange<Int64> = 200...1_200
  private static let wakeRange: ClosedRange<Int64> = 300...1_500

  private static let wakeupDatum = UInt64.max
  private static let listenerDatum = UInt64(1) << 62

  private final class ListenerBox {
    let socket: FileDescriptor
    let isSlow: Bool

    init(_ listener: FaultProxy.Listener) throws(Errno) {
      isSlow = listener.isSlow
      switch listener.endpoint {
      case .tcp(let port): socket = try Sockets.listen(on: .loopback, port: port)
      case .path(let path): socket = try Sockets.listen(path: path)
      }
    }
  }

  init(
    listeners addresses: [FaultProxy.Listener], target: FaultProxy.Endpoint,
    control: ProxyControl, seed: UInt64
  ) throws(Errno) {
    self.target = target
    self.control = control
    random = RandomStream(seed: seed)
    epoll = try Epoll()
    try epoll.add(rawValue: control.wakeup.rawValue, .read, datum: ProxyLoop.wakeupDatum)
    var listeners: [ListenerBox] = []
    var ports: [UInt16] = []
    for (index, address) in addresses.enumerated() {
      let listener = try ListenerBox(address)
      try epoll.add(listener.socket, .read, datum: ProxyLoop.listenerDatum | UInt64(index))
      if case .tcp = address.endpoint {
        ports.append(try listener.socket.localPort())
      } else {
        ports.append(0)
      }
      listeners.append(listener)
    }
    self.listeners = listeners
    self.ports = ports
  }

  func run() throws(Errno) {
    while !control.stops.load(ordering: .relaxed) {
      let wake = links.reduce(Instant.never) { min($0, $1?.wake ?? .never) }
      let wait = max(0, min(wake.milliseconds(since: SystemClock.now()) + 1, 1_000))
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(wait))
      let now = SystemClock.now()
      for position in 0..<events.count { try handle(events[position].datum, now) }
      for order in control.takeOrders() { try perform(order, now) }
      for index in links.indices where links[index].map({ $0.wake <= now }) ?? false {
        try move(index, now)
      }
    }
  }

  private func handle(_ datum: UInt64, _ now: Instant) throws(Errno) {
    if datum == ProxyLoop.wakeupDatum { return }
    if datum & ProxyLoop.listenerDatum != 0 {
      return try accept(listeners[Int(datum & 0xFFFF)], now)
    }
    let index = Int(datum & 0xFFFF_FFFF)
    guard generations[index] == UInt32(datum >> 32) else { return }
    if let link = links[index], link.isConnecting {
      if (try link.far.pendingError()) != nil { return close(index, resets: true) }
      link.isConnecting = false
    }
    try move(index, now)
  }

  // MARK: Links

  private func accept(_ listener: ListenerBox, _ now: Instant) throws(Errno) {
    while true {
      switch listener.socket.accept() {
      case .accepted(let near, _):
        guard links.count - free.count < ProxyLoop.linksMax else { continue }
        // The target does not listen: the near connection is closed at once.
        guard let far = try? connect() else { continue }
        try? near.setNoDelay()
        try open(ProxyLink(near: near, far: far), isSlow: listener.isSlow, now)
      case .wouldBlock: return
      case .aborted: continue
      case .exhausted(let error): throw error
      case .failed(let error): throw error
      }
    }
  }

  private func connect() throws(Errno) -> FileDescriptor {
    switch target {
    case .path(let path): return try Sockets.connect(path: path)
    case .tcp(let port):
      let socket = try Sockets.connect(to: .loopback, port: port)
      try socket.setNoDelay()
      // Small, so that the sender soon notices a held link, but not smaller than some 64 KiB
      // segments of the loopback, or the sender's window probes would limit the rate.
      try socket.setReceiveBuffer(byteCount: 131_072)
      return socket
    }
  }

  private func open(_ link: ProxyLink, isSlow: Bool, _ now: Instant) throws(Errno) {
    let index: Int
    if let used = free.popLast() {
      index = used
      links[index] = link
    } else {
      index = links.count
      links.append(link)
      generations.append(0)
    }
    if isSlow { link.nextNap = now }
    control.links.add(1, ordering: .relaxed)
    try watch(index, now)
  }

  private func close(_ index: Int, resets: Bool) {
    guard let link = links[index] else { return }
    if resets {
      // Unix sockets have no RST; a close is the equivalent.
      try? link.near.setResetOnClose()
      try? link.far.setResetOnClose()
    }
    links[index] = nil
    generations[index] &+= 1
    generations[index] &= 0x3FFF_FFFF
    free.append(index)
    control.links.subtract(1, ordering: .relaxed)
  }

  /// Moves all available bytes, in a bounded number of steps.
  private func move(_ index: Int, _ now: Instant) throws(Errno) {
    guard let link = links[index] else { return }
    if now >= link.doomedAt {
      control.broken.add(1, ordering: .relaxed)
      return close(index, resets: true)
    }
    if !link.isConnecting {
      nap(link, now)
      for _ in 0..<4 {
        let outcomes = [
          link.up.fill(from: link.near, &scratch, now, &random) { _ in true },
          link.up.drain(to: link.far, now),
          link.down.fill(from: link.far, &scratch, now, &random) { see(link, $0, now) },
          link.down.drain(to: link.near, now),
        ]
        if outcomes.contains(.dead) || link.up.isSinkOver && link.down.isSinkOver {
          return close(index, resets: outcomes.contains(.dead))
        }
        if !outcomes.contains(.moved) { break }
      }
      if link.up.allowance == 0, link.down.heldUntil < .never {
        // Nothing more is forwarded, as if the network failed after the COMMIT.
        link.down.heldUntil = .never
        link.doomedAt = now.advanced(byMilliseconds: ProxyLoop.afterglowMilliseconds)
      }
    }
    try watch(index, now)
  }

  private func nap(_ link: ProxyLink, _ now: Instant) {
    guard now >= link.nextNap else { return }
    let until = now.advanced(
      byMilliseconds: Int64.random(in: ProxyLoop.napRange, using: &random))
    link.down.heldUntil = max(link.down.heldUntil, until)
    link.nextNap = until.advanced(
      byMilliseconds: Int64.random(in: ProxyLoop.wakeRange, using: &random))
  }

  /// False when the answer is dropped and the link is cut.
  private func see(_ link: ProxyLink, _ bytes: ArraySlice<UInt8>, _ now: Instant) -> Bool {
    guard link.losesCommitUntil > now else { return true }
    guard link.completesCommit(bytes) else { return true }
    control.commitsLost.add(1, ordering: .relaxed)
    control.broken.add(1, ordering: .relaxed)
    return false
  }

  /// Registers for the possible operations. A socket without any leaves epoll, because a hang-up
  /// would be reported repeatedly.
  private func watch(_ index: Int, _ now: Instant) throws(Errno) {
    guard let link = links[index] else { return }
    let datum = UInt64(generations[index]) << 32 | UInt64(index)
    var near: Interest = []
    var far: Interest = []
    if link.isConnecting {
      far = .write
    } else {
      if link.up.wantsRead(now) { near.insert(.read) }
      if link.down.wantsRead(now) { far.insert(.read) }
      if link.down.wantsWrite(now) { near.insert(.write) }
      if link.up.wantsWrite(now) { far.insert(.write) }
    }
    try updateInterest(link.near, near, was: &link.nearInterest, datum)
    try updateInterest(link.far, far, was: &link.farInterest, datum)
    link.wake = min(min(link.up.wake(now), link.down.wake(now)), min(link.doomedAt, link.nextNap))
    if link.isConnecting { link.wake = .never }
  }

  private func updateInterest(
    _ socket: borrowing FileDescriptor, _ interest: Interest, was known: inout Interest?,
    _ datum: UInt64
  ) throws(Errno) {
    let wanted = interest.isEmpty ? nil : interest
    if wanted == known { return }
    switch (known, wanted) {
    case (nil, let wanted?): try epoll.add(socket, wanted, datum: datum)
    case (_?, let wanted?): try epoll.modify(socket, wanted, datum: datum)
    case (_, nil): try epoll.remove(socket)
    }
    known = wanted
  }

  // MARK: Faults

  private func perform(_ order: ProxyOrder, _ now: Instant) throws(Errno) {
    let open = links.indices.filter { links[$0] != nil }.shuffled(using: &random)
    let count = min(open.count, max(1, Int((order.share * Double(open.count)).rounded())))
    for index in open.prefix(count) {
      guard let link = links[index] else { continue }
      switch order.fault {
      case .cut, .reset:
        control.broken.add(1, ordering: .relaxed)
        if case .reset = order.fault {
          close(index, resets: true)
        } else {
          // FIN first, because closing with unread bytes sends a RST.
          try? link.near.shutdownWrite()
          try? link.far.shutdownWrite()
          close(index, resets: false)
        }
        continue
      case .stall(let milliseconds):
        let until = now.advanced(byMilliseconds: milliseconds)
        link.up.heldUntil = max(link.up.heldUntil, until)
        link.down.heldUntil = max(link.down.heldUntil, until)
      case .delay(let milliseconds, let atMost):
        let until = now.advanced(byMilliseconds: milliseconds)
        (link.up.delayedUntil, link.down.delayedUntil) = (until, until)
        (link.up.delayMilliseconds, link.down.delayMilliseconds) = (atMost, atMost)
      case .throttle(let milliseconds, let bytesPerSecond):
        let until = now.advanced(byMilliseconds: milliseconds)
        (link.up.pacedUntil, link.down.pacedUntil) = (until, until)
        (link.up.bytesPerSecond, link.down.bytesPerSecond) = (bytesPerSecond, bytesPerSecond)
      case .cutAfter(let bytes, let milliseconds):
        link.up.allowance = min(link.up.allowance, bytes)
        link.doomedAt = min(link.doomedAt, now.advanced(byMilliseconds: milliseconds))
      case .loseCommit(let milliseconds):
        link.losesCommitUntil = now.advanced(byMilliseconds: milliseconds)
      }
      try move(index, now)
    }
  }
}
