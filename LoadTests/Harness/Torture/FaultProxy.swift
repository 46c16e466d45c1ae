/// A proxy that breaks what passes through it on demand: between clients and gateway, and between
/// gateway and PostgreSQL's socket. TCP and Unix sockets on either side, a thread and an epoll of
/// its own.
import Kernel
import Primitives
import Synchronization

/// What can be asked of it. A share of the links is chosen at random, at least one.
enum ProxyFault: Sendable {
  /// FIN both ways; RST where it is TCP.
  case cut, reset
  case stall(milliseconds: Int64)
  case delay(milliseconds: Int64, atMost: Int64)
  case throttle(milliseconds: Int64, bytesPerSecond: Int)
  /// After so many more bytes from the near side, whose last answers are swallowed, or at the end
  /// of the time.
  case cutAfter(bytes: Int, milliseconds: Int64)
  /// When the next COMMIT is answered, which the near side never hears.
  case loseCommit(milliseconds: Int64)
}

struct ProxyOrder: Sendable {
  var fault: ProxyFault
  var share: Double
}

/// What the proxy's thread and the others have in common.
final class ProxyDesk: Sendable {
  let stops = Atomic(false)
  let links = Atomic(0)
  /// Links that were cut or reset on demand, and those of them whose COMMIT went unanswered.
  let broken = Atomic(0)
  let commitsLost = Atomic(0)
  let bell: EventCounter
  private let orders = Mutex<[ProxyOrder]>([])
  private let problem = Mutex<Errno?>(nil)

  init() throws(Errno) { bell = try EventCounter() }

  func order(_ order: ProxyOrder) {
    orders.withLock { $0.append(order) }
    bell.signal()
  }

  func takeOrders() -> [ProxyOrder] {
    bell.drain()
    return orders.withLock { all in
      defer { all = [] }
      return all
    }
  }

  /// Whether the proxy has heard everything.
  var takesNoOrders: Bool { orders.withLock { $0.isEmpty } }

  func fail(_ error: Errno) { problem.withLock { $0 = error } }

  var failure: Errno? { problem.withLock { $0 } }
}

final class FaultProxy {
  enum Place: Sendable {
    case tcp(UInt16)
    case path(String)
  }

  /// Where it listens; links of a slow door read in fits.
  struct Door: Sendable {
    var place: Place
    var isSlow = false
  }

  let desk: ProxyDesk
  /// Of each door; 0 for a path.
  let ports: [UInt16]
  private let thread: ThreadBox

  init(_ name: String, doors: [Door], target: Place, seed: UInt64) throws(Errno) {
    let desk = try ProxyDesk()
    let loop = try ProxyLoop(doors: doors, target: target, desk: desk, seed: seed)
    ports = loop.ports
    self.desk = desk
    thread = ThreadBox(
      try Thread.spawn(name: name) {
        do throws(Errno) {
          try loop.run()
        } catch {
          desk.fail(error)
        }
      })
  }

  /// Ends the thread and every link.
  func stop() {
    desk.stops.store(true, ordering: .relaxed)
    desk.bell.signal()
    thread.join()
  }
}
