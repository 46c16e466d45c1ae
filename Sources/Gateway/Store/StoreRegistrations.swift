import Kernel
import Logging

/// The registrations of libpq's sockets in epoll, and which of them are ready. libpq opens and
/// closes its sockets itself; the kernel removes a closed one from epoll.
struct StoreRegistrations {
  /// Both are initially ready, so that the first turn connects them.
  var isWriterReady = true
  var isReaderReady = true
  private var writer = Registration()
  private var reader = Registration()

  struct Registration: Equatable {
    /// Changes with every new socket of libpq, even one of the same number.
    var serial: UInt32 = 0
    var descriptor: Int32 = -1
    var wantsWrite = false
  }

  mutating func watchWriter(
    _ registration: Registration, _ epoll: borrowing Epoll, _ logger: Logger
  ) {
    StoreRegistrations.watch(registration, instead: writer, Datum.writer, epoll, logger)
    writer = registration
  }

  mutating func watchReader(
    _ registration: Registration, _ epoll: borrowing Epoll, _ logger: Logger
  ) {
    StoreRegistrations.watch(registration, instead: reader, Datum.reader, epoll, logger)
    reader = registration
  }

  private static func watch(
    _ new: Registration, instead old: Registration, _ datum: UInt64, _ epoll: borrowing Epoll,
    _ logger: Logger
  ) {
    guard new != old, new.descriptor >= 0 else { return }
    let interest: Interest = new.wantsWrite ? [.read, .write] : .read
    do throws(Errno) {
      // A new serial is a new socket, perhaps with the same number, or the same socket after a step
      // of connecting.
      try epoll.modify(rawValue: new.descriptor, interest, datum: datum)
    } catch  where error == .noEntry {
      do throws(Errno) {
        try epoll.add(rawValue: new.descriptor, interest, datum: datum)
      } catch {
        logger.error("cannot watch the socket to PostgreSQL: \(error)")
      }
    } catch {
      logger.error("cannot watch the socket to PostgreSQL: \(error)")
    }
  }
}
