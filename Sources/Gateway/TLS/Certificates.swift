import OpenSSL
import Settings

/// The certificates of the TLS listeners, read from their files: at the start, and again at each
/// SIGHUP.
final class Certificates: Sendable {
  private let files: [TLSCertificateFiles]
  private let compactRecords: Bool
  /// Kept over reloads, so that clients resume on new certificates too.
  let tickets = TLSTicketKeys()
  /// As they were at the start.
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

  /// A context of the files as they are now, for connections to come.
  func reload() throws(TLSLoadFailure) -> TLSContext {
    try TLSContext(server: files, tickets: tickets, compactRecords: compactRecords)
  }
}
