/// Loads certificates from files. Each is validated at the start; the error says how to correct it.
import COpenSSL

/// A certificate chain and its key, both PEM. The chain starts with the server's certificate.
public struct TLSCertificateFiles: Sendable, Hashable {
  public var chain: String
  /// May be the same file as the chain.
  public var key: String

  public init(chain: String, key: String) {
    self.chain = chain
    self.key = key
  }
}

public struct TLSLoadFailure: Error, Equatable, CustomStringConvertible {
  public var description: String

  public init(description: String) { self.description = description }
}

/// The properties of a certificate that the gateway needs.
struct TLSCertificate {
  var names: [String]
  var warnings: [String]
  /// When it expires, in seconds since 1970.
  var expiry: Int64

  /// Limit of the names in one certificate, in bytes.
  private static let nameBytesMax = 65_536

  /// Loads chain and key into the context.
  static func load(
    _ files: TLSCertificateFiles, into context: OpaquePointer
  ) throws(TLSLoadFailure) -> TLSCertificate {
    ERR_clear_error()
    defer { ERR_clear_error() }
    var warnings: [String] = []
    _ = try mode(of: files.chain, "certificate")
    let keyMode = try mode(of: files.key, "key")
    if keyMode & 0o077 != 0 {
      warnings.append(
        "the key \(files.key) is readable by other users (mode \(String(keyMode, radix: 8))); "
          + "restrict it with chmod 600")
    }
    // SAFETY: the strings live through the calls; OpenSSL copies what it reads.
    guard unsafe SSL_CTX_use_certificate_chain_file(context, files.chain) == 1 else {
      throw failure("the certificate \(files.chain) cannot be read", "a PEM chain is expected")
    }
    guard let certificate = unsafe SSL_CTX_get0_certificate(context) else {
      throw failure("the certificate \(files.chain) cannot be read", "a PEM chain is expected")
    }
    try unsafe checkDates(certificate, files.chain)
    guard unsafe SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM) == 1 else {
      let code = ERR_peek_last_error()
      let reason = chirrup_error_reason(code)
      if reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH {
        throw TLSLoadFailure(
          description: "the key \(files.key) does not belong to the certificate \(files.chain)")
      }
      throw failure(
        "the key \(files.key) cannot be read", "a PEM key without a passphrase is expected")
    }
    guard unsafe SSL_CTX_check_private_key(context) == 1 else {
      throw TLSLoadFailure(
        description: "the key \(files.key) does not belong to the certificate \(files.chain)")
    }
    return unsafe TLSCertificate(
      names: names(certificate), warnings: warnings, expiry: expiry(certificate))
  }

  private static func mode(
    of path: String, _ what: String
  ) throws(TLSLoadFailure) -> Int32 {
    // SAFETY: the string lives through the call.
    let mode = unsafe chirrup_file_mode(path)
    guard mode >= 0 else {
      let text = unsafe String(cString: strerror(chirrup_errno_of_openssl()))
      throw TLSLoadFailure(description: "the \(what) \(path) cannot be read: \(text)")
    }
    return mode
  }

  private static func failure(_ what: String, _ expected: String) -> TLSLoadFailure {
    // The first error is the cause; later ones describe consequences.
    let code = ERR_peek_error()
    // SAFETY: OpenSSL returns a constant or NULL.
    let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
    return TLSLoadFailure(description: "\(what): \(reason ?? "malformed"); \(expected)")
  }

  private static func checkDates(
    _ certificate: OpaquePointer, _ path: String
  ) throws(TLSLoadFailure) {
    // SAFETY: the certificate belongs to the context, which outlives the calls.
    if unsafe X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0 {
      throw TLSLoadFailure(description: "the certificate \(path) has expired")
    }
    if unsafe X509_cmp_current_time(X509_get0_notBefore(certificate)) >= 0 {
      throw TLSLoadFailure(description: "the certificate \(path) is not valid yet")
    }
  }

  private static func expiry(_ certificate: OpaquePointer) -> Int64 {
    var (days, seconds): (Int32, Int32) = (0, 0)
    // SAFETY: both are written, and the first time is freed after the call. The certificate was
    // loaded, so its time is valid; see `checkDates`.
    let zero = unsafe ASN1_TIME_set(nil, 0)
    defer { unsafe ASN1_STRING_free(zero) }
    _ = unsafe ASN1_TIME_diff(&days, &seconds, zero, X509_get0_notAfter(certificate))
    return Int64(days) * 86_400 + Int64(seconds)
  }

  private static func names(_ certificate: OpaquePointer) -> [String] {
    var text = [CChar](repeating: 0, count: nameBytesMax)
    // SAFETY: at most the size of the buffer is written.
    let count = unsafe text.withUnsafeMutableBufferPointer { room in
      unsafe chirrup_dns_names(certificate, room.baseAddress, room.count)
    }
    return text.prefix(count).split(separator: 10).map { name in
      String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}
