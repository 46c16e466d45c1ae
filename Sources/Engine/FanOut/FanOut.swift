import Chat
import Compression
import Primitives
import Wire

/// Sends a session's log and events to its subscribers. Nothing is written to a socket here: a
/// connection becomes dirty, and the driver collects its output once an iteration, in one write. A
/// text is encoded once and compressed once for all who may read it.
struct FanOut: ~Copyable {
  private var compressor: Compressor
  /// Deflated texts; one that many connections share counts once.
  private(set) var deflated: UInt64 = 0
  /// Entries sent to subscribers.
  var delivered: UInt64 = 0

  init(options: CompressionOptions) { compressor = Compressor(options: options) }

  // MARK: The log

  /// Distributes the changes of this iteration: subscribers of changed sessions become dirty, and
  /// following loops get mail.
  mutating func settle(
    _ sessions: inout SessionTable, _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard sessions.hasDirty else { return }
    let changed = sessions.takeDirty()
    for index in changed where sessions.isOccupied(index) {
      sessions[index].isDirty = false
      for position in sessions[index].subscribers.indices {
        let subscriber = sessions[index].subscribers[position]
        connections.markNews(subscriber.connection, subscriber.subscription)
      }
      sessions.postLog(index, &effects)
      sessions.countLog(index)
    }
    sessions.recycle(changed)
    sessions.dropRecent()
  }

  /// Appends the output of a connection, up to one iteration's share. Call it only while the socket
  /// takes bytes.
  mutating func collect(
    _ connection: ConnectionIndex, into output: inout [UInt8], _ sessions: inout SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard connections.isOccupied(connection) else { return }
    connections[connection].socket.isDirty = false
    guard !connections[connection].socket.isBlocked else { return }
    let before = output.count
    if !connections[connection].outbox.isEmpty {
      connections.takeOutbox(connection, into: &output)
    }
    guard connections[connection].phase == .open else {
      connections[connection].traffic.bytesOut &+= UInt64(output.count - before)
      return
    }
    let budget = output.count + Limits.backlogBytes
    let isDone =
      connections[connection].subscriptions.mustPumpAll
      ? pumpAll(connection, budget, into: &output, &sessions, &connections, &effects)
      : pumpNews(connection, budget, into: &output, &sessions, &connections, &effects)
    connections[connection].traffic.bytesOut &+= UInt64(output.count - before)
    // The rest follows in the next iteration, after the output of the other connections.
    if !isDone { connections.markDirty(connection) }
  }

  private mutating func pumpNews(
    _ connection: ConnectionIndex, _ budget: Int, into output: inout [UInt8],
    _ sessions: inout SessionTable, _ connections: inout ConnectionTable, _ effects: inout Effects
  ) -> Bool {
    while let index = connections[connection].subscriptions.firstWithNews.subscription {
      pump(connection, index, budget: budget, into: &output, &sessions, &connections, &effects)
      // A subscription that did not fit stays first.
      if output.count >= budget { return false }
      connections[connection].subscriptions.firstWithNews =
        connections[connection].subscriptions[index].nextWithNews
      connections[connection].subscriptions[index].nextWithNews = .notListed
    }
    return true
  }

  private mutating func pumpAll(
    _ connection: ConnectionIndex, _ budget: Int, into output: inout [UInt8],
    _ sessions: inout SessionTable, _ connections: inout ConnectionTable, _ effects: inout Effects
  ) -> Bool {
    for index in connections[connection].subscriptions.indices {
      pump(connection, index, budget: budget, into: &output, &sessions, &connections, &effects)
      if output.count >= budget { return false }
    }
    connections[connection].subscriptions.mustPumpAll = false
    connections[connection].subscriptions.firstWithNews = .end
    for index in connections[connection].subscriptions.indices {
      connections[connection].subscriptions[index].nextWithNews = .notListed
    }
    return true
  }

  /// The only rule that sends entries: see `Subscription`.
  private mutating func pump(
    _ connection: ConnectionIndex, _ index: SubscriptionIndex, budget: Int,
    into output: inout [UInt8],
    _ sessions: inout SessionTable, _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    let session = connections[connection].subscriptions[index].session
    var next = connections[connection].subscriptions[index].next
    let head = sessions[session].snapshot.head
    guard next <= head || !connections[connection].subscriptions[index].isLive else { return }
    let peer =
      connections[connection].deflate == nil ? nil : connections[connection].deflatePeer
    let isOperator = connections[connection].isOperator
    let start = next
    while next <= head && output.count < budget {
      guard next >= sessions[session].log.first, next <= sessions[session].log.last else {
        requestPage(connection, index, after: next - 1, sessions, &connections, &effects)
        break
      }
      if let peer {
        next = copyDeflated(
          session, peer, isOperator: isOperator, from: next, budget: budget, into: &output,
          &sessions)
        continue
      }
      next = sessions[session].log.copy(
        from: next, session: sessions[session].id, isOperator: isOperator, budget: budget,
        to: &output)
    }
    delivered += UInt64(next - start)
    connections[connection].traffic.messagesOut &+= UInt64(next - start)
    connections[connection].subscriptions[index].next = next
    if next > head && !connections[connection].subscriptions[index].isLive {
      connections[connection].subscriptions[index].isLive = true
      FrameEncoder.appendFrame(.text, to: &output) {
        EventEncoder.live(session: sessions[session].id, seq: head, to: &$0)
      }
    }
  }

  private func requestPage(
    _ connection: ConnectionIndex, _ index: SubscriptionIndex, after seq: Int64,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard !connections[connection].subscriptions[index].isPageInFlight else { return }
    connections[connection].subscriptions[index].isPageInFlight = true
    let session = sessions[connections[connection].subscriptions[index].session].id
    effects.read(
      .entries(
        session: session, after: seq, limit: Limits.backlogPage,
        .backlog(connection: connections.id(at: connection))))
  }

  /// `RecentLog.copy` for a connection with compression, entry by entry.
  private mutating func copyDeflated(
    _ session: SessionIndex, _ peer: DeflatePeer, isOperator: Bool, from first: Int64, budget: Int,
    into output: inout [UInt8], _ sessions: inout SessionTable
  ) -> Int64 {
    let id = sessions[session].id
    var next = first
    while next <= sessions[session].log.last && output.count < budget {
      if !isOperator && sessions[session].log.isNote(next) {
        FrameEncoder.appendFrame(.text, to: &output) {
          EventEncoder.hidden(session: id, seq: next, to: &$0)
        }
      } else {
        deflated += sessions[session].log.appendDeflated(next, peer, &compressor, to: &output)
      }
      next += 1
    }
    sessions.countLog(session)
    return next
  }

  // MARK: Events

  /// Encodes an event once and appends it for every subscriber that `includes` accepts.
  mutating func sendToSubscribers(
    _ session: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable,
    includes: (borrowing ConnectionTable, ConnectionIndex) -> Bool = { _, _ in true },
    _ encode: (SessionSnapshot, inout [UInt8]) -> Void
  ) {
    guard !sessions[session].subscribers.isEmpty else { return }
    var frame = SharedFrame()
    FrameEncoder.appendFrame(.text, to: &frame.plain) { encode(sessions[session].snapshot, &$0) }
    for subscriber in sessions[session].subscribers.indices {
      let connection = sessions[session].subscribers[subscriber].connection
      guard includes(connections, connection) else { continue }
      append(&frame, connection, &connections)
      connections.markDirty(connection)
    }
  }

  /// Sends the session's state to subscribers and following loops.
  mutating func announceState(
    _ index: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    sendToSubscribers(index, sessions, &connections) { EventEncoder.session($0, to: &$1) }
    effects.post(.state(sessions[index].snapshot), toEach: sessions[index].followers)
  }

  /// Appends a frame that several connections share, deflated once for all without a context.
  private mutating func append(
    _ frame: inout SharedFrame, _ connection: ConnectionIndex,
    _ connections: inout ConnectionTable
  ) {
    guard let peer = connections[connection].deflatePeer,
      frame.textByteCount >= compressor.options.thresholdBytes
    else {
      connections[outbox: connection].append(contentsOf: frame.plain)
      return
    }
    if peer.contexts == nil, frame.textByteCount <= 1 << peer.windowBits {
      if frame.deflated == nil {
        frame.deflated = deflatedCopy(of: frame.plain, peer)
        deflated += 1
      }
      connections[outbox: connection].append(contentsOf: frame.deflated ?? frame.plain)
    } else {
      let isDeflated = frame.plain.withRawSpan { bytes in
        compressor.append(frame: bytes, for: peer, to: &connections[outbox: connection])
      }
      deflated += 1
      if !isDeflated { connections[outbox: connection].append(contentsOf: frame.plain) }
    }
  }

  /// Returns the frame itself when the deflated one is not shorter.
  private mutating func deflatedCopy(of frame: [UInt8], _ peer: DeflatePeer) -> [UInt8] {
    var copy: [UInt8] = []
    let isSmaller = frame.withRawSpan { bytes in
      compressor.append(frame: bytes, for: peer, to: &copy)
    }
    return isSmaller ? copy : frame
  }

  /// Appends a text of the conversation for one connection, compressed if that was negotiated and
  /// makes it shorter. Deflating.swift says which texts may be compressed.
  mutating func sendConversation(
    _ connection: ConnectionIndex, _ connections: inout ConnectionTable,
    _ encode: (inout [UInt8]) -> Void
  ) {
    guard let peer = connections[connection].deflatePeer else {
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
      deflated += 1
    } else {
      text.withRawSpan {
        FrameEncoder.appendFrame(.text, payload: $0, to: &connections[outbox: connection])
      }
    }
    compressor.giveBack(text)
  }

  // MARK: Deflated input

  /// Inflates a connection's message into a buffer of the loop, so that idle connections hold none.
  /// Return it with `giveBack`.
  mutating func inflate(
    _ payload: RawSpan, from connection: ConnectionIndex, _ agreement: DeflateAgreement,
    _ connections: borrowing ConnectionTable
  ) throws(InflateFault) -> [UInt8] {
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
      throw error
    }
    return message
  }

  mutating func giveBack(_ buffer: consuming [UInt8]) { compressor.giveBack(buffer) }

  /// Echoes a deflated message, deflated.
  mutating func echoDeflated(
    _ connection: ConnectionIndex, _ opcode: Opcode, _ message: RawSpan,
    _ connections: inout ConnectionTable
  ) {
    guard let peer = connections[connection].deflatePeer else { return }
    _ = compressor.appendFrame(
      opcode, message, for: peer, isForced: true, to: &connections[outbox: connection])
  }
}

/// A frame for several connections, and its deflated form once one of them needs it.
struct SharedFrame {
  var plain: [UInt8] = []
  var deflated: [UInt8]?

  var textByteCount: Int { plain.withRawSpan { FrameEncoder.payloadRange(ofFrame: $0).count } }
}
