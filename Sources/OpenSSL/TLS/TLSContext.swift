/// The configuration of the connections of a listener, or of a client: versions, ciphers,
/// certificates, tickets. It is immutable and shared by all loops; new certificates need a new
/// context, which later connections use.
import COpenSSL

@safe public final class TLSContext: @unchecked Sendable {
  // SAFETY: of sendability: nothing is written after `init`, OpenSSL counts references to an
  // SSL_CTX atomically, and any thread may create connections from it.
  /// One for each certificate; the first is used for unknown names and for clients that send none.
  private var contexts: [OpaquePointer] = unsafe []
  private var names = TLSNames()
  private let tickets: TLSTicketKeys?
  /// Whether TLS 1.3 connections leave OpenSSL after the handshake, see `TLSRecords`.
  let hasCompactRecords: Bool
  /// Problems that do not prevent a start.
  public private(set) var warnings: [String] = []
  /// The files of the certificates, and when each expires, in seconds since 1970.
  public private(set) var expiries: [(file: String, at: Int64)] = []

  /// TLS 1.2 with forward secrecy and authenticated encryption only.
  private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
  public static let suites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
  private static let groups = "X25519:P-256:P-384"
  /// The hybrid with ML-KEM (RFC 9794 calls it post-quantum/traditional), which OpenSSL has from
  /// 3.5 on. A list with an unknown group is refused as a whole.
  private static let hybridGroups = "X25519MLKEM768:" + groups
  /// Validity of a ticket in seconds.
  private static let ticketSeconds = 2 * 3600
  /// The most certificates of a listener.
  public static let certificatesMax = 64

  /// The server's side.
  public init(
    server files: [TLSCertificateFiles], tickets: TLSTicketKeys, compactRecords: Bool = false
  ) throws(TLSLoadFailure) {
    self.tickets = tickets
    hasCompactRecords = compactRecords
    guard !files.isEmpty, files.count <= TLSContext.certificatesMax else {
      throw TLSLoadFailure(
        description: "TLS needs 1 to \(TLSContext.certificatesMax) certificates")
    }
    for (index, one) in files.enumerated() {
      let context = try unsafe TLSContext.make(isServer: true)
      unsafe contexts.append(context)
      unsafe settle(context)
      let certificate = try unsafe TLSCertificate.load(one, into: context)
      names.add(certificate.names, certificate: index)
      warnings += certificate.warnings
      expiries.append((one.chain, certificate.expiry))
    }
  }

  /// A client's context. `authority` is a PEM file of certificates to trust besides the system's;
  /// without `verifies` every certificate is accepted.
  public init(
    clientVerifying verifies: Bool, authority: String? = nil, maximum: TLSVersion = .v13,
    protocols: [String] = ["http/1.1"], suites: String = TLSContext.suites
  ) throws(TLSLoadFailure) {
    tickets = nil
    hasCompactRecords = false
    let context = try unsafe TLSContext.make(isServer: false)
    unsafe contexts.append(context)
    _ = unsafe SSL_CTX_set_ciphersuites(context, suites)
    unsafe chirrup_ssl_ctx_maximum(context, maximum == .v13 ? TLS1_3_VERSION : TLS1_2_VERSION)
    let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    // SAFETY: OpenSSL copies the list.
    _ = unsafe SSL_CTX_set_alpn_protos(context, list, UInt32(list.count))
    if verifies {
      unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
      _ = unsafe SSL_CTX_set_default_verify_paths(context)
      if let authority, unsafe SSL_CTX_load_verify_file(context, authority) != 1 {
        ERR_clear_error()
        throw TLSLoadFailure(description: "the certificates in \(authority) cannot be read")
      }
    }
  }

  deinit {
    // SAFETY: owned here; connections have their own references.
    unsafe contexts.forEach { unsafe SSL_CTX_free($0) }
  }

  private static func make(isServer: Bool) throws(TLSLoadFailure) -> OpaquePointer {
    // SAFETY: the method tables are never freed.
    guard let context = unsafe SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method())
    else { throw TLSLoadFailure(description: "OpenSSL cannot create a context") }
    unsafe chirrup_ssl_ctx_settle(context)
    _ = unsafe SSL_CTX_set_cipher_list(context, ciphers)
    _ = unsafe SSL_CTX_set_ciphersuites(context, suites)
    if unsafe chirrup_ssl_ctx_groups(context, hybridGroups) != 1 {
      ERR_clear_error()
      _ = unsafe chirrup_ssl_ctx_groups(context, groups)
    }
    unsafe SSL_CTX_set_msg_callback(context) { isWritten, _, type, bytes, count, ssl, _ in
      unsafe TLSCore.saw(
        isWritten: isWritten == 1, type: type, UnsafeRawBufferPointer(start: bytes, count: count),
        ssl)
    }
    return unsafe context
  }

  private func settle(_ context: OpaquePointer) {
    // A key with a passphrase is refused; OpenSSL would prompt on the terminal.
    unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    _ = unsafe SSL_CTX_set_num_tickets(context, 1)
    _ = unsafe SSL_CTX_set_timeout(context, TLSContext.ticketSeconds)
    let identity: [UInt8] = Array("chirrup".utf8)
    _ = unsafe SSL_CTX_set_session_id_context(context, identity, UInt32(identity.count))
    // OpenSSL offers the secrets only through this callback; it is not set without need.
    if hasCompactRecords {
      unsafe SSL_CTX_set_keylog_callback(context) { ssl, line in unsafe TLSCore.logged(ssl, line) }
    }
    unsafe SSL_CTX_set_alpn_select_cb(
      context,
      { _, chosen, count, offered, offeredCount, _ in
        unsafe TLSContext.chooseProtocol(chosen, count, offered, Int(offeredCount))
      }, nil)
    unsafe chirrup_ssl_ctx_server_name(context) { ssl, _, _ in
      unsafe TLSCore.context(of: ssl)?.chooseCertificate(ssl)
      return SSL_TLSEXT_ERR_OK
    }
    _ = unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { ssl, name, iv, cipher, mac, isNew in
      guard let keys = unsafe TLSCore.context(of: ssl)?.tickets, let name = unsafe name,
        let iv = unsafe iv, let cipher = unsafe cipher, let mac = unsafe mac
      else { return -1 }
      return unsafe keys.prepare(
        name: name, iv: iv, cipher: cipher, mac: mac, isNew: isNew == 1,
        isUsedOnce: SSL_version(ssl) == TLS1_3_VERSION)
    }
  }

  /// RFC 7301 §3.2: a client that offers protocols, but not ours, is refused by an alert.
  private static func chooseProtocol(
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ count: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ offeredCount: Int
  ) -> Int32 {
    let ours = "http/1.1".utf8
    guard let offered = unsafe offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let list = unsafe UnsafeBufferPointer(start: offered, count: offeredCount)
    var index = 0
    // OpenSSL has validated the list; the bounds are checked nevertheless.
    while index < list.count {
      let end = unsafe index + 1 + Int(list[index])
      guard end <= list.count else { break }
      if unsafe list[(index + 1)..<end].elementsEqual(ours) {
        // SAFETY: OpenSSL copies the name before the client's list is freed.
        unsafe chosen?.pointee = offered + index + 1
        unsafe count?.pointee = UInt8(ours.count)
        return SSL_TLSEXT_ERR_OK
      }
      index = end
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }

  private func chooseCertificate(_ ssl: OpaquePointer?) {
    // SAFETY: OpenSSL returns a C string or NULL.
    guard let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else { return }
    guard let index = unsafe names.certificate(for: String(cString: name)), index > 0 else {
      return
    }
    _ = unsafe SSL_set_SSL_CTX(ssl, contexts[index])
  }

  func makeSSL() -> OpaquePointer? { unsafe SSL_new(contexts[0]) }

  /// For a client: the name or address that the server's certificate must contain.
  func expect(_ name: String, of ssl: OpaquePointer) {
    // SAFETY: OpenSSL copies the strings.
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) != 1 {
      ERR_clear_error()
      _ = unsafe SSL_set1_host(ssl, name)
      _ = unsafe chirrup_ssl_server_name(ssl, name)
    }
  }
}
