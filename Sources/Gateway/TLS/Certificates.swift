import OpenSSL
import Settings
import Synchronization

/// The certificates of the TLS listeners, read from their files at the start and at each SIGHUP.
final class Certificates: Sendable {
  private let files: [TLSCertificateFiles]
  private let compactRecords: Bool
  /// Kept over reloads, so that clients can resume their sessions.
  let tickets = TLSTicketKeys()
  /// The context of the start.
  let first: TLSContext
  private let current: Mutex<TLSContext>

  /// - Returns: nil without TLS listeners.
  init?(_ settings: Settings) throws(TLSLoadFailure) {
    guard !settings.tls.listen.isEmpty else { return nil }
    files = settings.tls.certificates.indices.map { index in
      let chain = settings.tls.certificates[index]
      return TLSCertificateFiles(
        chain: chain, key: index < settings.tls.keys.count ? settings.tls.keys[index] : chain)
    }
    compactRecords = settings.tls.compactRecords
    first = try TLSContext(server: files, tickets: tickets, compactRecords: compactRecords)
    current = Mutex(first)
    guard compactRecords else { return }
    do throws(TLSSelfTestFailure) {
      try TLSSelfTest.run(first)
    } catch {
      throw TLSLoadFailure(description: error.description)
    }
  }

  /// Reads the files again.
  ///
  /// - Returns: the context for new connections.
  func reload() throws(TLSLoadFailure) -> TLSContext {
    let new = try TLSContext(server: files, tickets: tickets, compactRecords: compactRecords)
    current.withLock { $0 = new }
    return new
  }

  /// The files of the certificates in use, and when each expires, in seconds since 1970.
  var expiries: [(file: String, at: Int64)] { current.withLock { $0.expiries } }
}
