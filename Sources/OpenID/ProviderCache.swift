/// Documents and keys of identity providers by issuer, so that a sign-in needs two requests instead
/// of four. Content depends on the issuer's address alone, so workspaces share it.
import Primitives
import Synchronization

final class ProviderCache: Sendable {
  /// Issuers that are kept; a further one displaces the one that was fetched longest ago.
  static let issuersMax = 256
  static let seconds: Int64 = 3_600
  /// The least time between two requests for the keys of an issuer because of a key that is not
  /// known: tokens with invented keys cause no more.
  static let refetchSeconds: Int64 = 60

  private struct Entry {
    var document: ProviderDocument
    var keys: JSONWebKeySet?
    var fetchedAt: WallTime
    var keysRequestedAt: WallTime?
  }

  private let entries = Mutex<[String: Entry]>([:])

  func document(of issuer: String, now: WallTime) -> ProviderDocument? {
    entries.withLock {
      $0[issuer].flatMap { entry in
        isWithin(ProviderCache.seconds, after: entry.fetchedAt, now) ? entry.document : nil
      }
    }
  }

  func put(_ document: ProviderDocument, now: WallTime) {
    entries.withLock { entries in
      if entries[document.issuer] == nil, entries.count >= ProviderCache.issuersMax,
        let oldest = entries.min(by: { $0.value.fetchedAt < $1.value.fetchedAt })
      {
        entries[oldest.key] = nil
      }
      entries[document.issuer] = Entry(
        document: document, keys: nil, fetchedAt: now,
        keysRequestedAt: entries[document.issuer]?.keysRequestedAt)
    }
  }

  func keys(of issuer: String) -> JSONWebKeySet? { entries.withLock { $0[issuer]?.keys } }

  /// Whether the keys may be requested now, which counts as a request.
  func mayRequestKeys(of issuer: String, now: WallTime) -> Bool {
    entries.withLock { entries in
      guard var entry = entries[issuer] else { return true }
      if let last = entry.keysRequestedAt, entry.keys != nil,
        isWithin(ProviderCache.refetchSeconds, after: last, now)
      {
        return false
      }
      entry.keysRequestedAt = now
      entries[issuer] = entry
      return true
    }
  }

  func put(_ keys: JSONWebKeySet, of issuer: String) {
    entries.withLock { $0[issuer]?.keys = keys }
  }

  private func isWithin(_ seconds: Int64, after time: WallTime, _ now: WallTime) -> Bool {
    now.microseconds < time.microseconds + seconds * 1_000_000
  }
}
