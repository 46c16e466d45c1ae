import OpenSSL
import Settings

/// The certificates of the TLS listeners, read from their files at the start and at each SIGHUP.
final class Certificates: Sendable {
  private let files: [TLSCertificateFiles]
  private let compactRecords: Bool
  /// Kept over reloads, so that clients can resume their sessions.
  let tickets = TLSTicketKeys()
  /// The context of the start.
  let first: TLSContext

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
    try TLSContext(server: files, tickets: tickets, compactRecords: compactRecords)
  }
}
