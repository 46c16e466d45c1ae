import Chat
import Compression
import Primitives
import Wire

/// What is compressed, for whom, and how often: once for everybody who can read it.
///
/// The rule against CRIME and BREACH (faults D14): how long a compressed text is tells an
/// eavesdropper whether its parts resemble each other, so a secret must never be compressed
/// together with a text that an attacker chose.
/// - Compressed is only what participants of a conversation wrote: single entries, pages of them,
///   what is told about the session. Answers (`welcome`, `ok`, `ack`, `error`), everything about
///   tokens, and the operators' lists, which hold data of visitors next to their texts, never are.
/// - A note, which a visitor must not read, is compressed alone; a page that holds notes beside the
///   visitor's texts is not compressed.
/// - A context is kept for visitors only, where it is configured: the same people read everything
///   in it. An operator's would mix the texts of many visitors, so it gets the shared copies.
extension Engine {
  /// To whom the connection's messages are deflated; nil when they are not.
  func deflatePeer(_ connection: ConnectionIndex) -> DeflatePeer? {
    guard let agreement = connections[connection].deflate else { return nil }
    let isOneReader =
      connections[connection].purpose == .echo || connections[connection].isVisitor
    return DeflatePeer(
      windowBits: Int(agreement.serverWindowBits),
      contexts: isOneReader && !agreement.serverForgets ? connections[connection].contexts : nil)
  }

  /// Inflates a message and hands it on. The buffer is the loop's, so idle connections hold none.
  mutating func receiveDeflated(_ connection: ConnectionIndex, _ opcode: Opcode, _ payload: RawSpan)
  {
    guard let agreement = connections[connection].deflate,
      connections[connection].phase != .closing,
      connections[connection].phase != .finished
    else { return }
    var message = compressor.takeBuffer()
    let limit = connections[connection].decoder.limits.messageBytes
    do throws(InflateFault) {
      if let contexts = connections[connection].contexts, !agreement.clientForgets {
        try contexts.inflate(
          payload, windowBits: Int(agreement.clientWindowBits), limit: limit, to: &message)
      } else {
        try compressor.inflate(payload, limit: limit, to: &message)
      }
    } catch {
      compressor.giveBack(message)
      fail(
        connection, .deflate, error == .tooLong ? .messageTooBig : .invalidPayload, error.reason)
      return
    }
    guard connections[connection].purpose == .echo || chargeInflated(connection, message.count)
    else {
      compressor.giveBack(message)
      return
    }
    // RFC 6455 §8.1 speaks of the text, not of the bytes that carried it.
    if opcode == .text, !message.withRawSpan({ UTF8Validator.isValid($0) }) {
      fail(connection, .deflate, .invalidPayload, "inflated text is not UTF-8")
    } else {
      message.withRawSpan { self.message(connection, opcode, $0, isDeflated: true) }
    }
    compressor.giveBack(message)
  }

  /// What came out counts against the rate of the peer, who sent a thousandth of it. False when the
  /// connection is closed for it.
  private mutating func chargeInflated(_ connection: ConnectionIndex, _ byteCount: Int) -> Bool {
    let count = byteCount / Limits.inflatedBytesOfCommand
    let isCovered = connections[connection].commandBucket.charge(
      count, perSecond: Limits.commandsPerSecond, burst: Limits.commandsBurst, now: now)
    guard !isCovered else { return true }
    connections[connection].overRate += Int32(count)
    guard connections[connection].overRate > Limits.overRate else { return true }
    close(connection, .rateAbuse, "too many bytes in compressed messages")
    return false
  }

  /// Answers the echo of a message that came deflated, deflated.
  mutating func echoDeflated(_ connection: ConnectionIndex, _ opcode: Opcode, _ message: RawSpan) {
    guard let peer = deflatePeer(connection) else { return }
    _ = compressor.appendFrame(
      opcode, message, for: peer, isForced: true, to: &connections[outbox: connection])
  }

  /// Appends a text of the conversation for this connection alone, compressed where that was
  /// agreed and is worth it. See the rule above for what may come here.
  mutating func appendConversation(_ connection: ConnectionIndex, _ encode: (inout [UInt8]) -> Void)
  {
    guard let peer = deflatePeer(connection) else {
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection], body: encode)
      return
    }
    var text = compressor.takeBuffer()
    encode(&text)
    let isDeflated =
      text.count >= compressor.options.thresholdBytes
      && text.withRawSpan {
        compressor.appendFrame(.text, $0, for: peer, to: &connections[outbox: connection])
      }
    if isDeflated {
      counts.deflated += 1
    } else {
      text.withRawSpan {
        FrameEncoder.appendFrame(.text, payload: $0, to: &connections[outbox: connection])
      }
    }
    compressor.giveBack(text)
  }

  /// Appends a frame that several connections get, deflated once for all who have no context.
  mutating func append(_ frame: inout SharedFrame, _ connection: ConnectionIndex) {
    guard let peer = deflatePeer(connection),
      frame.textByteCount >= compressor.options.thresholdBytes
    else {
      connections[outbox: connection].append(contentsOf: frame.plain)
      return
    }
    if peer.contexts == nil, frame.textByteCount <= 1 << peer.windowBits {
      if frame.deflated == nil {
        frame.deflated = deflatedCopy(of: frame.plain, peer)
        counts.deflated += 1
      }
      connections[outbox: connection].append(contentsOf: frame.deflated ?? frame.plain)
    } else {
      let isDeflated = frame.plain.withRawSpan { bytes in
        compressor.append(frame: bytes, for: peer, to: &connections[outbox: connection])
      }
      counts.deflated += 1
      if !isDeflated { connections[outbox: connection].append(contentsOf: frame.plain) }
    }
  }

  /// The frame itself where deflating gains nothing.
  private mutating func deflatedCopy(of frame: [UInt8], _ peer: DeflatePeer) -> [UInt8] {
    var copy: [UInt8] = []
    let isSmaller = frame.withRawSpan { bytes in
      compressor.append(frame: bytes, for: peer, to: &copy)
    }
    return isSmaller ? copy : frame
  }

  /// The rest of the log for a connection with compression: `RecentLog.copy`, entry by entry.
  mutating func copyDeflated(
    _ connection: ConnectionIndex, _ session: SessionIndex, _ peer: DeflatePeer, from first: Int64,
    budget: Int,
    into output: inout [UInt8]
  ) -> Int64 {
    let isOperator = connections[connection].isOperator
    let id = sessions[session].id
    var next = first
    while next <= sessions[session].log.last && output.count < budget {
      if !isOperator && sessions[session].log.isNote(next) {
        FrameEncoder.appendFrame(.text, to: &output) {
          EventEncoder.hidden(session: id, seq: next, to: &$0)
        }
      } else {
        counts.deflated += sessions[session].log.appendDeflated(
          next, peer, &compressor, to: &output)
      }
      next += 1
    }
    sessions.countLog(session)
    return next
  }
}

/// A frame on its way to several connections, and its deflated form once somebody wanted it.
struct SharedFrame {
  var plain: [UInt8] = []
  var deflated: [UInt8]?

  var textByteCount: Int { plain.withRawSpan { FrameEncoder.payloadRange(ofFrame: $0).count } }
}
