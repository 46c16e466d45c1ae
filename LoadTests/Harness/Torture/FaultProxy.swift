/// A proxy that injects network faults on demand, between clients and gateway or between gateway
/// and PostgreSQL. It uses TCP or Unix sockets on either side, and its own thread and epoll.
import Kernel
import Primitives
import Synchronization

/// A fault for a random share of the links, at least one.
enum ProxyFault: Sendable {
  /// FIN in both directions; RST for TCP.
  case cut, reset
  case stall(milliseconds: Int64)
  case delay(milliseconds: Int64, atMost: Int64)
  case throttle(milliseconds: Int64, bytesPerSecond: Int)
  /// Cuts after this many bytes from the near side, and drops the last answers; at the latest at
  /// the end of the time.
  case cutAfter(bytes: Int, milliseconds: Int64)
  /// Cuts when the next COMMIT is answered, and drops the answer.
  case loseCommit(milliseconds: Int64)
}

struct ProxyOrder: Sendable {
  var fault: ProxyFault
  var share: Double
}

/// State shared by the proxy's thread and the others.
final class ProxyControl: Sendable {
  let stops = Atomic(false)
  let links = Atomic(0)
  /// Links that were cut or reset on demand, and those of them with a dropped answer to COMMIT.
  let broken = Atomic(0)
  let commitsLost = Atomic(0)
  let wakeup: EventCounter
  private let orders = Mutex<[ProxyOrder]>([])
  private let problem = Mutex<Errno?>(nil)

  init() throws(Errno) { wakeup = try EventCounter() }

  func order(_ order: ProxyOrder) {
    orders.withLock { $0.append(order) }
    wakeup.signal()
  }

  func takeOrders() -> [ProxyOrder] {
    wakeup.drain()
    return orders.withLock { all in
      defer { all = [] }
      return all
    }
  }

  /// Whether the proxy has taken all orders.
  var takesNoOrders: Bool { orders.withLock { $0.isEmpty } }

  func fail(_ error: Errno) { problem.withLock { $0 = error } }

  var failure: Errno? { problem.withLock { $0 } }
}

final class FaultProxy {
  enum Endpoint: Sendable {
    case tcp(UInt16)
    case path(String)
  }

  /// A listening address; the links of a slow listener read with interruptions.
  struct Listener: Sendable {
    var endpoint: Endpoint
    var isSlow = false
  }

  let control: ProxyControl
  /// The port of each listener; 0 for a path.
  let ports: [UInt16]
  private let thread: ThreadBox

  init(_ name: String, listeners: [Listener], target: Endpoint, seed: UInt64) throws(Errno) {
    let control = try ProxyControl()
    let loop = try ProxyLoop(listeners: listeners, target: target, control: control, seed: seed)
    ports = loop.ports
    self.control = control
    thread = ThreadBox(
      try Thread.spawn(name: name) {
        do throws(Errno) {
          try loop.run()
        } catch {
          control.fail(error)
        }
      })
  }

  /// Ends the thread and all links.
  func stop() {
    control.stops.store(true, ordering: .relaxed)
    control.wakeup.signal()
    thread.join()
  }
}
