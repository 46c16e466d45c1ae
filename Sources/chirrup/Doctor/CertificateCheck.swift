/// Whether browsers accept the gateway's certificates, and for how long.
import HTTPClient
import Kernel
import OpenSSL
import Primitives
import Settings

extension DoctorCheck {
  static let certificate = DoctorCheck(
    name: "certificate", symptom: "browsers warn about the certificate; the widget does not load",
    remedy: "renew it (for example with certbot), with the whole chain and the name of public_url, "
      + "and send the gateway SIGHUP, or reload the proxy"
  ) { examination in
    let settings = examination.settings
    guard !settings.tls.listen.isEmpty else { return try CertificateFigures.ofProxy(examination) }
    let host = PublicURL.host(settings)
    var lines: [String] = []
    var warnings: [String] = []
    var isCovered = host == nil
    for (index, chain) in settings.tls.certificates.enumerated() {
      let key = settings.tls.keys.isEmpty ? chain : settings.tls.keys[index]
      let report = try TLSCertificateReport(
        TLSCertificateFiles(chain: chain, key: key), authority: examination.authority)
      lines.append("\(chain) is valid for \(report.secondsLeft / 86_400) days")
      if report.secondsLeft < CertificateFigures.soonSeconds {
        warnings.append("\(chain) expires in \(report.secondsLeft / 86_400) days")
      }
      if let fault = report.chainFault { warnings.append("\(chain): \(fault)") }
      warnings += report.warnings
      if let host, report.covers(host) { isCovered = true }
    }
    if let host, !isCovered {
      return .failure(
        "no certificate has the name \(host) of public_url"
          + (warnings.isEmpty ? "" : "; " + warnings.joined(separator: "; ")))
    }
    return warnings.isEmpty
      ? .ok(lines.joined(separator: "; ")) : .warning(warnings.joined(separator: "; "))
  }
}

enum CertificateFigures {
  /// Three weeks: certificates for 90 days are renewed after 60.
  static let soonSeconds: Int64 = 21 * 86_400
  private static let connectMilliseconds = 5_000

  /// The certificate that a proxy shows at `public_url`.
  static func ofProxy(_ examination: Examination) throws -> Diagnosis {
    guard let url = examination.settings.publicURL, url.hasPrefix("https://") else {
      return .skipped("neither tls.listen nor a public_url with https is set")
    }
    do {
      let connection = try RawConnection(
        to: url, milliseconds: connectMilliseconds, authority: examination.authority)
      guard let end = connection.certificateEnd else {
        return .failure("\(url) shows no certificate")
      }
      let seconds = (end.microseconds - SystemClock.wallTime().microseconds) / 1_000_000
      let text = "\(url) shows a certificate that expires in \(seconds / 86_400) days"
      return seconds < soonSeconds ? .warning(text) : .ok(text)
    } catch let failure as RawConnection.Failure {
      guard failure.stage == .tls else { return .skipped("\(url) is not reachable: \(failure)") }
      return .failure("\(url): \(failure)")
    }
  }
}
