import Engine
import Kernel
import Logging
import OpenSSL
import Primitives

/// TLS on the loop: handshakes, and the way from a socket's bytes to plain ones. What a link says
/// inside is told apart in `deliver`, the same for plain links.
extension EventLoop {
  /// Handshakes that are driven in one iteration. One costs up to a millisecond, almost all of it
  /// the signature; the others wait behind the conversations, in the kernel, and epoll brings them
  /// back at once.
  static let handshakesPerTurn = 4
  /// From the accept to the end of the handshake, however slowly it comes (faults T02).
  static let handshakeMilliseconds: Int64 = 10_000
  /// Bytes that a link's TLS may have for a peer that does not read: answers to key updates, which
  /// come without the engine's bounds.
  static let unsentBytesMax = 262_144

  mutating func receiveSecure(_ slot: Int) {
    if case .handshake = links[slot].phase {
      guard handshakesLeft > 0 else { return }
      handshakesLeft -= 1
    }
    let places = input.withMutableRawSpan { links[slot].tls?.prepare(&$0) }
    guard let (start, fill) = places else { return }
    let outcome = input.withMutableRawSpan { buffer in
      links[slot].descriptor.receive(into: &buffer, from: fill)
    }
    switch outcome {
    case .bytes(let count):
      figures.bytesReceived &+= UInt64(count)
      open(slot, TLSCursor(next: start, end: fill + count))
    case .wouldBlock: open(slot, TLSCursor(next: start, end: fill))
    case .endOfStream, .reset, .failed: endSecure(slot)
    }
  }

  /// Every record of what came, each delivered before the next one is opened.
  private mutating func open(_ slot: Int, _ cursor: TLSCursor) {
    var cursor = cursor
    var isGoing = true
    while isGoing, !links[slot].isDoomed {
      let step = input.withMutableRawSpan { buffer in
        links[slot].tls?.open(&buffer, &cursor, tlsWorkspace)
      }
      switch step ?? .needMoreBytes {
      case .plain(let range): deliver(slot, range)
      case .established:
        figures.handshakes &+= 1
        endHandshake(slot)
        links[slot].phase = .http
        links[slot].beginHTTP(now)
      case .needMoreBytes: isGoing = false
      case .closed:
        // Our own close_notify follows with the end, see `linger`.
        if case .webSocket(let connection) = links[slot].phase { engine.peerEnded(connection) }
        doom(slot)
      case .failed(let fault): fail(slot, fault)
      }
    }
    guard links[slot].hasUnsent else { return }
    if links[slot].tls?.unsentByteCount ?? 0 > EventLoop.unsentBytesMax {
      figures.faults.count(.tls, "answers are not read")
      links[slot].hasEnded = true
      doom(slot)
    }
    unsentLinks.append(links.id(at: slot))
  }

  /// The alert, if there is one, goes out before the socket is closed.
  mutating func fail(_ slot: Int, _ fault: TLSFault) {
    figures.faults.count(.tls, fault.reason)
    if fault == .plainHTTP {
      endHandshake(slot)
      links[slot].tls = nil
      links[slot].phase = .http
      links[slot].beginHTTP(now)
      links[slot].exchange.fail()
      answer(slot, HTTPResponse.problem(400, "This port speaks HTTPS. Ask with https://."))
      return
    }
    if case .webSocket(let connection) = links[slot].phase { engine.peerEnded(connection) }
    doom(slot)
  }

  mutating func endSecure(_ slot: Int) {
    switch links[slot].phase {
    case .hello, .helloQueued, .handshake:
      figures.faults.count(.tls, "ended during the handshake")
    // A lost network ends in the same way; what was sent before is complete in itself, since
    // requests and frames have lengths.
    case .http, .webSocket: figures.faults.count(.tls, "ended without close_notify")
    case .lingering, .proxyHeader: break
    }
    ended(slot)
  }

  /// What TLS itself has to say: a flight of the handshake, an answer to a key update, an alert.
  mutating func flushUnsent() {
    guard !unsentLinks.isEmpty else { return }
    let waiting = unsentLinks
    unsentLinks.removeAll(keepingCapacity: true)
    for id in waiting where links.contains(id) {
      let slot = Int(id.index)
      guard !links[slot].isDoomed else { continue }
      switch links[slot].flushUnsent() {
      case .bytes(let count):
        figures.bytesSent &+= UInt64(count)
        let interest = links[slot].interest
        if links[slot].hasUnsent {
          watch(slot, interest.union(.write))
        } else if case .handshake = links[slot].phase {
          watch(slot, .read)
        }
      case .wouldBlock: continue
      case .reset, .failed: ended(slot)
      }
    }
  }

  /// Says goodbye without waiting for the peer's, and gives the session up as soon as the socket
  /// has taken everything.
  mutating func closeSecure(_ slot: Int) {
    guard links[slot].isSecure else { return }
    links[slot].tls?.close(tlsWorkspace)
    _ = links[slot].flushUnsent()
    if !links[slot].hasUnsent { links[slot].tls = nil }
  }
}
