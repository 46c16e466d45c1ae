import Chat
import Primitives
import Wire

/// The rule against CRIME and BREACH (faults D14): how long a compressed text is tells an
/// eavesdropper whether its parts resemble each other, so a secret must never be compressed
/// together with a text that an attacker chose.
/// - Compressed is only what participants of a conversation wrote: single entries, pages of them,
///   events about the session. Answers (`welcome`, `ok`, `ack`, `error`), everything about tokens,
///   and the operators' lists, which hold data of visitors next to their texts, never are.
/// - A note, which a visitor must not read, is compressed alone; a page that holds notes beside the
///   visitor's texts is not compressed.
/// - A context is kept for visitors only, where it is configured: the same people read everything
///   in it. An operator's would mix the texts of many visitors, so it gets the shared copies.
extension Connection {
  /// To whom the connection's messages are deflated; nil when they are not.
  var deflatePeer: DeflatePeer? {
    guard let agreement = deflate else { return nil }
    let isOneReader = purpose == .echo || isVisitor
    return DeflatePeer(
      windowBits: Int(agreement.serverWindowBits),
      contexts: isOneReader && !agreement.serverForgets ? contexts : nil)
  }

  /// Inflated bytes count against the rate of the peer, who sent a thousandth of them. False when
  /// they are too many.
  mutating func chargeInflated(_ byteCount: Int, now: Instant) -> Bool {
    let count = byteCount / Limits.inflatedBytesOfCommand
    let isCovered = commandBucket.charge(
      count, perSecond: Limits.commandsPerSecond, burst: Limits.commandsBurst, now: now)
    guard !isCovered else { return true }
    overRate += Int32(count)
    return overRate <= Limits.overRate
  }
}
