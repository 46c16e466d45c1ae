import Chat
import Primitives
import Wire

/// The rule against CRIME and BREACH (faults D14). The length of a compressed text reveals to an
/// eavesdropper whether its parts resemble each other, so a secret must never be compressed
/// together with a text that an attacker chose.
/// - Only texts of participants are compressed: single entries, pages of them, and events about the
///   session. Responses (`welcome`, `ok`, `ack`, `error`), token events and the inbox, which holds
///   visitors' data next to their texts, never are.
/// - A note, which a visitor must not read, is compressed alone. A page with notes and visitors'
///   texts is not compressed.
/// - Only visitors have contexts, if context takeover is configured: one person reads everything in
///   it. An operator's context would mix the texts of many visitors, so operators share the copies
///   without context.
extension Connection {
  /// The parameters for deflating this connection's messages; nil without compression.
  var deflatePeer: DeflatePeer? {
    guard let agreement = deflate else { return nil }
    let isOneReader = purpose == .echo || isVisitor
    return DeflatePeer(
      windowBits: Int(agreement.serverWindowBits),
      contexts: isOneReader && !agreement.serverForgets ? contexts : nil)
  }

  /// Charges inflated bytes against the peer's command rate, since it may have sent a thousandth of
  /// them. Returns false when the connection exceeds `Limits.overRate`.
  mutating func chargeInflated(_ byteCount: Int, now: Instant) -> Bool {
    let count = byteCount / Limits.inflatedBytesOfCommand
    let isCovered = rates.commands.charge(
      count, perSecond: Limits.commandsPerSecond, burst: Limits.commandsBurst, now: now)
    guard !isCovered else { return true }
    rates.excess += Int16(count)
    return rates.excess <= Limits.overRate
  }
}
