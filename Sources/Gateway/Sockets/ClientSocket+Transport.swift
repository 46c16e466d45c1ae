import Kernel
import OpenSSL
import Primitives

/// The one seam between what a socket says and how its bytes travel: plain, or sealed by TLS. For a
/// plain socket it is the system call and one comparison.
extension ClientSocket {
  /// The socket speaks TLS, behind its ClientHello.
  var isSecure: Bool {
    switch tls {
    case .some: true
    case .none: false
    }
  }

  /// Sealed bytes wait for the socket.
  var hasUnsent: Bool {
    switch tls {
    case .some(let session): session.hasUnsent
    case .none: false
    }
  }

  /// Sends as much as the socket takes. The count is of plain bytes: those that are sealed and not
  /// sent yet are the socket's, see `hasUnsent`, and go out before anything else.
  mutating func send(_ bytes: RawSpan, _ workspace: TLSWorkspace) -> WriteOutcome {
    guard isSecure else { return descriptor.send(bytes) }
    if hasUnsent {
      switch flushUnsent() {
      case .bytes: if hasUnsent { return .wouldBlock }
      case let other: return other
      }
    }
    var taken = 0
    while taken < bytes.byteCount {
      guard let count = tls?.seal(bytes, from: taken, workspace) else { return .reset }
      taken += count
      let outcome = workspace.withSealed { descriptor.send($0) }
      switch outcome {
      case .bytes(let sent) where sent == workspace.sealedByteCount: continue
      case .bytes(let sent): tls?.keepSealed(from: sent, workspace)
      case .wouldBlock: tls?.keepSealed(from: 0, workspace)
      case .reset, .failed: return outcome
      }
      break
    }
    return .bytes(taken)
  }

  /// Sends what is sealed already; `.bytes` whether or not something is left.
  mutating func flushUnsent() -> WriteOutcome {
    guard let outcome = tls?.withUnsent({ $0.isEmpty ? .bytes(0) : descriptor.send($0) }) else {
      return .bytes(0)
    }
    if case .bytes(let count) = outcome { tls?.sent(count) }
    return outcome == .wouldBlock ? .bytes(0) : outcome
  }
}
