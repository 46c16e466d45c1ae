/// The connections to the storage, kept open between requests: a handshake of TLS for each piece
/// of a download would take longer than the piece. A thread borrows a client of libcurl for a
/// request; there are as many as threads that send at once, and few are kept.
import HTTPClient
import Synchronization

final class S3Connections: Sendable {
  static let keptMax = 8

  /// SAFETY: a client belongs to the one thread that has taken it out of `idle`.
  private final class Lease: @unchecked Sendable {
    var client = HTTPClient(connectionsMax: 1) { _ in true }
  }

  private let idle = Mutex<[Lease]>([])

  func outcome(of request: HTTPRequest) -> HTTPOutcome {
    let lease = idle.withLock { $0.popLast() } ?? Lease()
    guard lease.client.begin(request, ticket: 0) else {
      return .failed(reason: "the address of the storage is invalid")
    }
    // libcurl ends the request at its time limit.
    while true {
      lease.client.advance(milliseconds: 1_000)
      guard let (_, outcome) = lease.client.takeEnded() else { continue }
      idle.withLock { idle in
        if idle.count < S3Connections.keptMax { idle.append(lease) }
      }
      return outcome
    }
  }
}
