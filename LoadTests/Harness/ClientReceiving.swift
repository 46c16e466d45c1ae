/// A client's reaction to each event of the gateway.
import Primitives

extension Client {
  /// Handles one event; `text` is the message that contains it.
  mutating func receive(
    _ event: ServerEvent, _ text: RawSpan, now: Instant, _ measured: inout Measurements,
    _ output: inout CommandBuffer
  ) -> Action {
    silenceEnds = now.advanced(byMilliseconds: silenceMilliseconds)
    switch event.kind {
    case .message: return shown(event, text, now: now, &measured)
    case .ack: acked(event, now: now, &measured, &output)
    case .ping: output.pong()
    case .welcome: welcomed(event, now: now, &measured, &output)
    case .subscribed: subscribed(event, &measured, &output)
    case .live: return wentLive(event, &measured, &output)
    case .more:
      if let index = position(event) { subscribe(index, &output) }
    case .error: return failed(event, now: now, &measured)
    case .drain:
      let delay = Int64.random(
        in: Int64(
          event.windowMilliseconds.lowerBound)...Int64(event.windowMilliseconds.upperBound),
        using: &measured.random)
      moveAt = now.advanced(byMilliseconds: delay)
    case .resync: resynced(event, &measured, &output)
    case .unsubscribed:
      if let index = position(event) { lapse(index, now: now) }
    case .ok, .other: break
    }
    return .none
  }

  private func position(_ event: ServerEvent) -> Int? {
    guard let session = event.session else { return nil }
    if subscriptions.count == 1 { return subscriptions[0].session == session ? 0 : nil }
    return positions[session]
  }

  private mutating func welcomed(
    _ event: ServerEvent, now: Instant, _ measured: inout Measurements,
    _ output: inout CommandBuffer
  ) {
    stage = .online
    if wasOnline { measured.counters.reconnects += 1 }
    wasOnline = true
    inFlightMax = max(1, event.inFlightMax)
    if event.silenceMilliseconds > 0 {
      // PROTOCOL.md, heartbeat: a client waits for interval + timeout + 5 s.
      silenceMilliseconds = Int64(event.silenceMilliseconds) + 5000
    }
    silenceEnds = now.advanced(byMilliseconds: silenceMilliseconds)
    subscribeAbsent(&output)
    pump(&measured, &output)
  }

  private mutating func subscribed(
    _ event: ServerEvent, _ measured: inout Measurements, _ output: inout CommandBuffer
  ) {
    guard let index = position(event) else { return }
    let subscription = subscriptions[index]
    if event.from > subscription.asked {
      measured.ledger.violations.note(
        .lost, count: event.from - subscription.asked,
        "session \(subscription.session) resumed at \(event.from), wanted \(subscription.asked)")
    } else if event.from < subscription.asked {
      measured.ledger.violations.note(
        .duplicated, count: subscription.asked - event.from,
        "session \(subscription.session) resumed at \(event.from), wanted \(subscription.asked)")
    }
    if subscription.asked > 1 { measured.counters.resumes += 1 }
    mark(index, .current)
    subscriptions[index].next = event.from
    subscriptions[index].epoch = event.epoch
    attempt = 0
    subscribeAbsent(&output)
    pump(&measured, &output)
  }

  /// The seq of `live` is the end of the backlog, so the last received one.
  private mutating func wentLive(
    _ event: ServerEvent, _ measured: inout Measurements, _ output: inout CommandBuffer
  ) -> Action {
    guard let index = position(event) else { return .none }
    subscriptions[index].isLive = true
    guard event.seq >= subscriptions[index].next else { return .none }
    measured.ledger.violations.note(
      .holes, count: event.seq - subscriptions[index].next + 1,
      "\(place(event)) got `live`, but expects \(subscriptions[index].next)"
    )
    return .close(4190)
  }

  private mutating func shown(
    _ event: ServerEvent, _ text: RawSpan, now: Instant, _ measured: inout Measurements
  ) -> Action {
    guard let index = position(event) else {
      measured.ledger.violations.note(.mismatched, "a message of a session without a subscription")
      return .none
    }
    measured.counters.delivered += 1
    let subscription = subscriptions[index]
    if event.seq < subscription.next {
      measured.ledger.violations.note(.duplicated, "\(place(event)) expects \(subscription.next)")
      return .none
    }
    measured.ledger.shown(subscription.log, seq: event.seq, id: event.id)
    if let id = event.id, measured.stamp.isOwn(id) {
      if unescaped(event.body, in: text).map({ measured.bodies.isBody($0, of: id) }) != true {
        measured.ledger.violations.note(
          .mismatched, "\(place(event)) got another body than \(id)'s")
      }
      if isTimed, measured.stamp.client(of: id) != number {
        measured.latencies.delivery(from: measured.stamp.due(of: id), to: now)
      }
    }
    if role == .operator_, event.senderIsVisitor, subscription.isLive,
      unanswered.count < Client.unansweredMax
    {
      unanswered.append(Int32(index))
    }
    if event.seq > subscription.next {
      measured.ledger.violations.note(
        .holes, count: event.seq - subscription.next,
        "\(place(event)) expects \(subscription.next)"
      )
      return .close(4190)
    }
    subscriptions[index].next = event.seq + 1
    return .none
  }

  private mutating func acked(
    _ event: ServerEvent, now: Instant, _ measured: inout Measurements,
    _ output: inout CommandBuffer
  ) {
    guard let id = event.id, let number = event.ref, let index = position(event),
      number < Client.helloRef, outbox.entry(number)?.id == id
    else {
      measured.ledger.violations.note(
        .mismatched,
        "an ack without an outstanding message: ref \(event.ref ?? -1) seq \(event.seq)")
      return
    }
    measured.ledger.acked(subscriptions[index].log, seq: event.seq, id: id)
    measured.counters.acked += 1
    if event.duplicate { measured.counters.duplicateAcks += 1 }
    measured.latencies.ack(from: measured.stamp.due(of: id), to: now)
    outbox.settle(number)
    pump(&measured, &output)
  }

  private mutating func failed(
    _ event: ServerEvent, now: Instant, _ measured: inout Measurements
  ) -> Action {
    if event.retry {
      measured.counters.retries[event.code, default: 0] += 1
      // Up to half of the delay is added at random, to spread the retries of many clients.
      let delay = Int64(max(event.retryAfterMilliseconds, 20))
      let jitter = Int64.random(in: 0...delay / 2, using: &measured.random)
      notBefore = max(notBefore, now.advanced(byMilliseconds: delay + jitter))
    }
    guard let ref = event.ref else { return .none }
    if ref < Client.helloRef {
      guard let entry = outbox.entry(ref) else { return .none }
      if event.retry {
        outbox.fail(ref)
      } else {
        measured.counters.refusals[event.code, default: 0] += 1
        measured.ledger.refused(entry.id)
        outbox.settle(ref)
      }
    } else if !event.retry {
      measured.counters.refusals[event.code, default: 0] += 1
    } else if ref == Client.helloRef {
      return .close(1000)
    } else if subscriptions.indices.contains(ref - Client.helloRef - 1) {
      lapse(ref - Client.helloRef - 1, now: now)
    }
    return .none
  }

  /// Marks a subscription for a new subscribe, soon.
  private mutating func lapse(_ index: Int, now: Instant) {
    mark(index, .absent)
    if notBefore == .zero { notBefore = now.advanced(byMilliseconds: 100) }
  }

  /// The log may be shorter than before: the client reads it again from the start.
  private mutating func resynced(
    _ event: ServerEvent, _ measured: inout Measurements, _ output: inout CommandBuffer
  ) {
    guard let index = position(event) else { return }
    measured.counters.resyncs += 1
    subscriptions[index].epoch = event.epoch
    subscriptions[index].next = 1
    subscribe(index, &output)
  }

  private func place(_ event: ServerEvent) -> String {
    "session \(event.session ?? .zero) seq \(event.seq): client \(number)"
  }
}
