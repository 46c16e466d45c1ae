/// The data encoded in a message id: the due time, the sender, and the message's number at that
/// sender.
///
/// An id of version 7 has room for them (RFC 9562 §5.7 and §6.2, method 3: the bits after the
/// milliseconds are a finer clock). So the harness stores only the id of a message; the latency
/// from the due time, the sender's order and the expected body follow from it.
///
///     high: 48 bits milliseconds | version 7 | 12 bits fraction of the millisecond
///     low:  variant 10 | 12 bits nonce of the run | 22 bits client | 28 bits number
import Primitives

struct Stamp: Sendable, Codable {
  /// Distinguishes this run's ids from those of other runs on the same database.
  let nonce: UInt64
  /// Wall clock minus monotonic clock at the start, in nanoseconds: ids follow the monotonic
  /// clock.
  let wallOffset: Int64

  static let clientsMax = 1 << 22
  static let numbersMax = 1 << 28

  init(nonce: UInt64, wall: WallTime, now: Instant) {
    self.nonce = nonce & 0xFFF
    wallOffset = wall.microseconds * 1000 - now.nanoseconds
  }

  func identifier(due: Instant, client: Int, number: Int) -> Identifier {
    precondition(client < Stamp.clientsMax && number < Stamp.numbersMax, "an id has no room for it")
    let wall = UInt64(due.nanoseconds + wallOffset)
    let (milliseconds, rest) = wall.quotientAndRemainder(dividingBy: 1_000_000)
    return Identifier(
      high: milliseconds << 16 | 0x7000 | rest * 4096 / 1_000_000,
      low: 1 << 63 | nonce << 50 | UInt64(client) << 28 | UInt64(number))
  }

  func isOwn(_ id: Identifier) -> Bool {
    id.high >> 12 & 0xF == 7 && id.low >> 50 == 1 << 13 | nonce
  }

  func client(of id: Identifier) -> Int { Int(id.low >> 28 & 0x3F_FFFF) }

  func number(of id: Identifier) -> Int { Int(id.low & 0xFFF_FFFF) }

  /// The due time, at most a quarter of a microsecond early.
  func due(of id: Identifier) -> Instant {
    let fraction = (id.high & 0xFFF) * 1_000_000 / 4096
    return Instant(nanoseconds: Int64(id.high >> 16 * 1_000_000 + fraction) - wallOffset)
  }
}
