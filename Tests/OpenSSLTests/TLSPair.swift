import Primitives

@testable import OpenSSL

/// A server's and a client's session that communicate through two byte queues, in pieces of any
/// size.
final class TLSPair {
  /// One end, with its loop's workspace and receive buffer.
  final class End {
    let session: TLSSession
    /// A different workspace simulates another loop.
    var workspace: TLSWorkspace
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private(set) var received: [UInt8] = []
    private(set) var steps: [TLSStep] = []
    private(set) var isClosed = false
    private(set) var fault: TLSFault?

    init(_ session: consuming TLSSession, _ workspace: TLSWorkspace) {
      self.session = session
      self.workspace = workspace
    }

    var isEstablished: Bool { session.isEstablished }
    var isCompact: Bool { session.isCompact }
    var isResumed: Bool { session.isResumed }
    var hasUnsent: Bool { session.hasUnsent }
    var version: TLSVersion? { session.version }

    func resumption() -> TLSResumption? { session.resumption() }

    /// As the socket does: receives some bytes and opens them.
    func receive(_ bytes: ArraySlice<UInt8>) {
      var rest = bytes
      while !rest.isEmpty {
        let (start, fill) = buffer.withMutableRawSpan { session.prepare(&$0) }
        let count = min(rest.count, buffer.count - fill)
        buffer.replaceSubrange(fill..<(fill + count), with: rest.prefix(count))
        rest = rest.dropFirst(count)
        var cursor = TLSCursor(next: start, end: fill + count)
        var isGoing = true
        while isGoing {
          let step = buffer.withMutableRawSpan { session.open(&$0, &cursor, workspace) }
          isGoing = take(step)
        }
      }
    }

    private func take(_ step: TLSStep) -> Bool {
      steps.append(step)
      switch step {
      case .plain(let range): received += buffer[range]
      case .established: break
      case .needMoreBytes: return false
      case .closed:
        isClosed = true
        return false
      case .failed(let fault):
        self.fault = fault
        return false
      }
      return true
    }

    func takeUnsent() -> [UInt8] {
      let bytes = session.withUnsent { span in
        var copy: [UInt8] = []
        copy.append(span)
        return copy
      }
      session.sent(bytes.count)
      return bytes
    }

    /// The sealed bytes of a whole text.
    func seal(_ plain: [UInt8]) -> [UInt8]? {
      var sealed = takeUnsent()
      var offset = 0
      while offset < plain.count {
        guard let count = plain.withRawSpan({ session.seal($0, from: offset, workspace) }) else {
          return nil
        }
        workspace.withSealed { sealed.append($0) }
        offset += count
      }
      return sealed
    }
  }

  let server: End
  let client: End
  /// Bytes per delivery.
  var pieceBytes = 65_536

  init(
    server context: TLSContext, client clientContext: TLSContext, name: String = "localhost",
    resuming ticket: TLSResumption? = nil
  ) {
    server = End(TLSSession(server: context), TLSWorkspace())
    let workspace = TLSWorkspace()
    client = End(
      TLSSession(client: clientContext, name: name, resuming: ticket, workspace), workspace)
  }

  func deliver(_ bytes: [UInt8], to end: End) {
    var offset = 0
    while offset < bytes.count {
      let next = min(bytes.count, offset + pieceBytes)
      end.receive(bytes[offset..<next])
      offset = next
    }
  }

  /// Delivers until neither side has bytes to send.
  func exchange() {
    for _ in 0..<64 {
      let fromClient = client.takeUnsent()
      deliver(fromClient, to: server)
      let fromServer = server.takeUnsent()
      deliver(fromServer, to: client)
      if fromClient.isEmpty && fromServer.isEmpty { return }
    }
  }

  func say(_ text: [UInt8], from end: End) {
    guard let sealed = end.seal(text) else { return }
    deliver(sealed, to: end === client ? server : client)
    exchange()
  }
}
