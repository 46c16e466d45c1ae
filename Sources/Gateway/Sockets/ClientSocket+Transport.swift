import Kernel
import OpenSSL
import Primitives

/// Sending through a socket, plain or sealed by TLS. For a plain socket it costs the system call
/// and one comparison.
extension ClientSocket {
  /// Whether the socket has a TLS session: it speaks TLS and its handshake has begun.
  var isSecure: Bool {
    switch tls {
    case .some: true
    case .none: false
    }
  }

  /// Whether sealed bytes wait to be sent.
  var hasUnsent: Bool {
    switch tls {
    case .some(let session): session.hasUnsent
    case .none: false
    }
  }

  /// Sends as much as the socket accepts.
  ///
  /// - Returns: the number of plain bytes that were taken. Sealed bytes not sent yet belong
  ///   to the socket (`hasUnsent`) and are sent before any others.
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

  /// Sends sealed bytes.
  ///
  /// - Returns: `.bytes`, also if some are left, or why the socket failed.
  mutating func flushUnsent() -> WriteOutcome {
    guard let outcome = tls?.withUnsent({ $0.isEmpty ? .bytes(0) : descriptor.send($0) }) else {
      return .bytes(0)
    }
    if case .bytes(let count) = outcome { tls?.sent(count) }
    return outcome == .wouldBlock ? .bytes(0) : outcome
  }
}
