import Engine
import Kernel
import OpenSSL
import Primitives

/// The begin of TLS. Until its ClientHello is there whole, a connection has a link and nothing
/// else: the loop peeks, and the bytes stay in the kernel. Then it waits for room among the
/// handshakes, and only then gets an OpenSSL object. A half-open connection costs 0.3 KiB this way,
/// and 46 KiB with the object.
extension EventLoop {
  /// Edge-triggered: what is peeked at stays readable, and would wake the loop for ever.
  static let helloInterest: Interest = [.read, .readHangUp, .edgeTriggered]

  /// Bytes came, or the peer has shut its side. Each look begins at the first byte.
  mutating func receiveHello(_ slot: Int, until deadline: Instant, hasHungUp: Bool) {
    let outcome = input.withMutableRawSpan { all in
      var room = all._mutatingExtracting(0..<TLSHello.byteCountMax)
      return links[slot].descriptor.peek(into: &room)
    }
    switch outcome {
    case .bytes(let count):
      switch input.withRawSpan({ TLSHello($0.extracting(0..<count)) }) {
      case .incomplete: if hasHungUp { endSecure(slot) }
      case .whole:
        links[slot].phase = .helloQueued(until: deadline)
        handshakes.append(links.id(at: slot))
      case .broken(let fault, let alert): refuseHello(slot, fault, alert)
      }
    case .wouldBlock: return
    case .endOfStream, .reset, .failed: endSecure(slot)
    }
  }

  private mutating func refuseHello(_ slot: Int, _ fault: TLSFault, _ alert: UInt8?) {
    links[slot].startsTLS = false
    if let alert {
      // One try: the gateway does not wait for such a peer.
      _ = TLSHello.record(alert: alert).withRawSpan { links[slot].descriptor.send($0) }
    }
    fail(slot, fault)
  }

  /// Starts as many of the waiting handshakes as the turn and the limits allow.
  mutating func startHandshakes() {
    guard !handshakes.isEmpty else { return }
    var looks = min(handshakes.count, HandshakeQueue.looksPerTurn)
    while handshakesLeft > 0, looks > 0, let id = handshakes.takeFirst() {
      looks -= 1
      let slot = Int(id.index)
      guard links.contains(id), !links[slot].isDoomed,
        case .helloQueued(let deadline) = links[slot].phase, let tlsContext
      else { continue }
      switch shared.admission.beginHandshake(links[slot].caller.peer.ip) {
      case .admitted: break
      case .full: return handshakes.putBack(id)
      case .tooManyFromAddress:
        handshakes.refuse(id)
        continue
      }
      handshakes.began()
      links[slot].startsTLS = false
      links[slot].tls = TLSSession(server: tlsContext)
      links[slot].phase = .handshake(until: deadline)
      links[slot].exchange.deadline = now.advanced(
        byMilliseconds: HandshakeQueue.patienceMilliseconds)
      watch(slot, .read)
      receiveSecure(slot)
    }
  }

  /// Gives the place of a handshake back, however it ended. To be called before its link enters
  /// another phase.
  mutating func endHandshake(_ slot: Int) {
    guard case .handshake = links[slot].phase else { return }
    shared.admission.endHandshake(links[slot].caller.peer.ip)
    handshakes.ended()
  }

  mutating func sweepHandshake(_ slot: Int, until deadline: Instant) {
    guard now >= deadline else { return }
    figures.faults.count(.tls, "handshake not complete in time")
    links[slot].hasEnded = true
    doom(slot)
  }

  /// A handshake under way has less time while others wait for its place. The link's exchange,
  /// which begins anew after the handshake, keeps that time.
  func patience(_ slot: Int, _ deadline: Instant) -> Instant {
    handshakes.isEmpty ? deadline : min(deadline, links[slot].exchange.deadline)
  }

  // MARK: Memory behind a wave

  /// Links of a loop that are no WebSockets: fewer keep 11 MiB at most.
  private static let waveMin = 256
  private static let trimMilliseconds: Int64 = 2_000

  /// With each sweep: gives the memory of a wave back once three quarters of it have gone.
  mutating func giveBackMemory() {
    let count = links.count - engine.connectionCount
    wave = max(wave, count)
    guard wave >= EventLoop.waveMin, count <= wave / 4, now >= nextTrim else { return }
    wave = count
    nextTrim = now.advanced(byMilliseconds: EventLoop.trimMilliseconds)
    ProcessMemory.giveBack()
  }
}
