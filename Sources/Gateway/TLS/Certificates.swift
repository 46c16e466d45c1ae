import OpenSSL
import Settings
import Synchronization

/// The certificates of the TLS listeners, read from their files at the start and at each reload.
final class Certificates: Sendable {
  private let compactRecords: Bool
  /// Kept over reloads, so that clients can resume their sessions.
  let tickets = TLSTicketKeys()
  /// The context of the start.
  let first: TLSContext
  private let current: Mutex<TLSContext>

  /// - Returns: nil without TLS listeners.
  init?(_ settings: Settings) throws(TLSLoadFailure) {
    guard !settings.tls.listen.isEmpty else { return nil }
    compactRecords = settings.tls.compactRecords
    first = try TLSContext(
      server: Certificates.files(settings), tickets: tickets, compactRecords: compactRecords)
    current = Mutex(first)
    guard compactRecords else { return }
    do throws(TLSSelfTestFailure) {
      try TLSSelfTest.run(first)
    } catch {
      throw TLSLoadFailure(description: error.description)
    }
  }

  private static func files(_ settings: Settings) -> [TLSCertificateFiles] {
    settings.tls.certificates.indices.map { index in
      let chain = settings.tls.certificates[index]
      return TLSCertificateFiles(
        chain: chain, key: index < settings.tls.keys.count ? settings.tls.keys[index] : chain)
    }
  }

  /// Reads the files of these settings.
  ///
  /// - Returns: the context for new connections.
  func reload(_ settings: Settings) throws(TLSLoadFailure) -> TLSContext {
    try TLSContext(
      server: Certificates.files(settings), tickets: tickets, compactRecords: compactRecords)
  }

  /// New connections get this context from now on.
  func use(_ context: TLSContext) { current.withLock { $0 = context } }

  /// The files of the certificates in use, and when each expires, in seconds since 1970.
  var expiries: [(file: String, at: Int64)] { current.withLock { $0.expiries } }
}
