/// The findings about a certificate chain and its key, for `chirrup doctor`: what `TLSCertificate`
/// refuses is thrown, the rest is here.
import COpenSSL

public struct TLSCertificateReport: Sendable {
  /// The DNS names of the certificate.
  public var names: [String]
  /// Until the certificate expires.
  public var secondsLeft: Int64
  /// Why clients with the system's authorities, or those of `authority`, do not trust the chain.
  public var chainFault: String?
  public var warnings: [String]
  private var lookup = TLSNames()

  /// - Parameter authority: a PEM file of certificates to trust instead of the system's.
  public init(
    _ files: TLSCertificateFiles, authority: String? = nil
  ) throws(TLSLoadFailure) {
    // SAFETY: the method table is never freed; the context is freed below, after its certificate
    // was used for the last time.
    guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
      throw TLSLoadFailure(description: "OpenSSL cannot create a context")
    }
    defer { unsafe SSL_CTX_free(context) }
    // A key with a passphrase is refused; OpenSSL would prompt on the terminal.
    unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    let certificate = try unsafe TLSCertificate.load(files, into: context)
    names = certificate.names
    warnings = certificate.warnings
    lookup.add(names, certificate: 0)
    var days: Int32 = 0
    var seconds: Int32 = 0
    // SAFETY: both are written; nil is the present time. The certificate was loaded above.
    _ = unsafe ASN1_TIME_diff(
      &days, &seconds, nil, X509_get0_notAfter(SSL_CTX_get0_certificate(context)))
    secondsLeft = Int64(days) * 86_400 + Int64(seconds)
    let code = unsafe chirrup_chain_error(context, authority)
    // SAFETY: a constant text.
    chainFault =
      code == X509_V_OK ? nil : unsafe String(cString: X509_verify_cert_error_string(Int(code)))
    ERR_clear_error()
  }

  /// Whether the certificate is valid for a host name.
  public func covers(_ host: String) -> Bool { lookup.certificate(for: host) != nil }
}
