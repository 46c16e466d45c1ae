/// The state behind a `TLSSession`: OpenSSL's object during the handshake and for TLS 1.2, and
/// optionally `TLSRecords` afterwards for TLS 1.3.
import COpenSSL
import Primitives

@safe final class TLSCore {
  enum Stage { case handshaking, library, records, over }

  /// State needed only during the handshake.
  private final class Notes {
    let context: TLSContext
    let isServer: Bool
    /// Keeps OpenSSL's records and creates ours beside them, see `TLSSelfTest`.
    let isExamined: Bool
    var clientSecret: [UInt8] = []
    var serverSecret: [UInt8] = []
    /// Records written with the server's traffic secret during the handshake: the session tickets.
    var writtenUnderSecret: UInt64 = 0

    init(_ context: TLSContext, isServer: Bool, isExamined: Bool) {
      self.context = context
      self.isServer = isServer
      self.isExamined = isExamined
    }

    deinit {
      overwrite(&clientSecret)
      overwrite(&serverSecret)
    }

    /// The record layer of one direction after the handshake; nil without secrets.
    func records(_ suite: TLSSuite, ofServer: Bool) -> TLSRecords? {
      guard clientSecret.count == suite.secretBytes, serverSecret.count == suite.secretBytes else {
        return nil
      }
      return TLSRecords(
        suite: suite, readSecret: ofServer ? clientSecret : serverSecret,
        writeSecret: ofServer ? serverSecret : clientSecret,
        written: ofServer ? writtenUnderSecret : 0)
    }
  }

  private(set) var stage = Stage.handshaking
  private(set) var version: TLSVersion?
  private(set) var isResumed = false
  /// With OpenSSL's records: key updates in a row without data in between.
  private var keyUpdates: UInt8 = 0
  private var hasRefusedRenegotiation = false
  var unsent: [UInt8] = []
  private var ssl: OpaquePointer?
  private var notes: Notes?
  private var records: TLSRecords?

  init(_ context: TLSContext, isServer: Bool, isExamined: Bool = false) {
    notes = Notes(context, isServer: isServer, isExamined: isExamined)
    unsafe ssl = context.makeSSL()
    guard unsafe ssl != nil else {
      stage = .over
      return
    }
    if isServer { unsafe SSL_set_accept_state(ssl) } else { unsafe SSL_set_connect_state(ssl) }
  }

  deinit { freeLibrary() }

  private func freeLibrary() {
    // SAFETY: the SSL is owned here, and this is its last use.
    unsafe SSL_free(ssl)
    unsafe ssl = nil
    notes = nil
  }

  // MARK: Callbacks of OpenSSL

  /// The context of the connection whose handshake makes the callback.
  static func context(of ssl: OpaquePointer?) -> TLSContext? {
    unsafe TLSChannel.core(of: ssl)?.notes?.context
  }

  /// OpenSSL's key log callback: a line in NSS key log format with label, client random and secret.
  /// It stays in memory.
  static func logged(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    guard let notes = unsafe TLSChannel.core(of: ssl)?.notes, let line = unsafe line else { return }
    // SAFETY: OpenSSL passes a C string.
    let words = unsafe UnsafeBufferPointer(start: line, count: strlen(line))
      .split(separator: CChar(bitPattern: UInt8(ascii: " ")))
    guard unsafe words.count == 3 else { return }
    func secret() -> [UInt8] {
      var digits = unsafe words[2].map { digit -> UInt8 in
        let value = UInt8(bitPattern: digit)
        return value >= 97 ? value &- 87 : value >= 65 ? value &- 55 : value &- 48
      }
      defer { overwrite(&digits) }
      return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
    let label = unsafe String(decoding: words[0].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    switch label {
    case "CLIENT_TRAFFIC_SECRET_0": notes.clientSecret = secret()
    case "SERVER_TRAFFIC_SECRET_0":
      notes.serverSecret = secret()
      notes.writtenUnderSecret = 0
    default: return
    }
  }

  /// OpenSSL's message callback, for each message and record header in both directions.
  static func saw(
    isWritten: Bool, type: Int32, _ bytes: UnsafeRawBufferPointer, _ ssl: OpaquePointer?
  ) {
    switch type {
    // Only during the handshake; later there are two headers per record.
    case SSL3_RT_HEADER where unsafe isWritten && SSL_in_init(ssl) == 1:
      unsafe TLSChannel.core(of: ssl)?.notes?.writtenUnderSecret += 1
    case SSL3_RT_HANDSHAKE where unsafe !isWritten && bytes.first == UInt8(SSL3_MT_KEY_UPDATE):
      guard let core = unsafe TLSChannel.core(of: ssl) else { return }
      core.keyUpdates = min(core.keyUpdates, .max - 1) + 1
    // OpenSSL answers a renegotiation with a warning, see `read`.
    case SSL3_RT_ALERT where unsafe isWritten && bytes.last == UInt8(SSL_AD_NO_RENEGOTIATION):
      unsafe TLSChannel.core(of: ssl)?.hasRefusedRenegotiation = true
    default: return
    }
  }

  // MARK: Steps

  func start(name: String, _ ticket: TLSResumption?, _ workspace: TLSWorkspace) {
    guard let ssl = unsafe ssl, let notes else { return }
    unsafe notes.context.expect(name, of: ssl)
    // SAFETY: OpenSSL takes its own reference.
    if let ticket { _ = unsafe SSL_set_session(ssl, ticket.session) }
    var cursor = TLSCursor(next: 0, end: 0)
    _ = unsafe handshake(UnsafeMutableRawBufferPointer(start: nil, count: 0), &cursor, workspace)
  }

  /// While OpenSSL reads, its plaintext is written in front of the ciphertext, which it cannot
  /// overtake.
  func prepare(_ buffer: UnsafeMutableRawBufferPointer) -> (start: Int, fill: Int) {
    if let records {
      return unsafe (0, records.prepare(buffer))
    }
    return (TLSRecords.recordBytesMax, TLSRecords.recordBytesMax)
  }

  func open(
    _ buffer: UnsafeMutableRawBufferPointer, _ cursor: inout TLSCursor, _ workspace: TLSWorkspace
  ) -> TLSStep {
    let step: TLSStep
    switch stage {
    case .handshaking:
      guard cursor.next < cursor.end else { return .needMoreBytes }
      step = unsafe handshake(buffer, &cursor, workspace)
    case .library: step = unsafe read(buffer, &cursor, workspace)
    case .records:
      guard let records else { return .failed(.library) }
      var output: [UInt8] = []
      step = unsafe records.open(buffer, &cursor, workspace.aead, output: &output)
      if !output.isEmpty { unsent += output }
    case .over:
      cursor.next = cursor.end
      return .needMoreBytes
    }
    if case .failed = step { stage = .over }
    return step
  }

  private func handshake(
    _ buffer: UnsafeMutableRawBufferPointer, _ cursor: inout TLSCursor, _ workspace: TLSWorkspace
  ) -> TLSStep {
    guard let ssl = unsafe ssl else { return .failed(.library) }
    unsafe begin(ssl, workspace)
    // SAFETY: the cursor is within the buffer, and the channel forgets it after the call.
    let (result, taken) = unsafe workspace.channel.lend(
      buffer.baseAddress?.advanced(by: cursor.next), cursor.end - cursor.next
    ) { unsafe SSL_do_handshake(ssl) }
    cursor.next += taken
    takeOutput(workspace)
    if result == 1 {
      unsafe establish(ssl)
      return .established
    }
    switch unsafe SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .needMoreBytes
    default: return .failed(.takeLast())
    }
  }

  private func establish(_ ssl: OpaquePointer) {
    let isVersion13 = unsafe SSL_version(ssl) == TLS1_3_VERSION
    version = isVersion13 ? .v13 : .v12
    isResumed = unsafe SSL_session_reused(ssl) == 1
    stage = .library
    guard let notes else { return }
    if notes.isServer { unsafe chirrup_ssl_forget_handshake(ssl) }
    if !notes.isExamined { self.notes = nil }
    // RFC 6066 §4: `max_fragment_length` limits our records; OpenSSL complies with it.
    guard notes.isServer, notes.context.hasCompactRecords, isVersion13,
      unsafe SSL_has_pending(ssl) == 0,
      unsafe SSL_SESSION_get_max_fragment_length(SSL_get_session(ssl))
        == UInt8(TLSEXT_max_fragment_length_DISABLED),
      let suite = unsafe TLSSuite(
        protocolID: SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(ssl))),
      let own = notes.records(suite, ofServer: true)
    else { return }
    records = own
    guard !notes.isExamined else { return }
    stage = .records
    freeLibrary()
  }

  private func read(
    _ buffer: UnsafeMutableRawBufferPointer, _ cursor: inout TLSCursor, _ workspace: TLSWorkspace
  ) -> TLSStep {
    guard let ssl = unsafe ssl else { return .failed(.library) }
    unsafe begin(ssl, workspace)
    var count = 0
    // SAFETY: the ciphertext starts after room for one record's plaintext, see `prepare`, so
    // OpenSSL never overwrites unread bytes.
    let (result, taken) = unsafe workspace.channel.lend(
      buffer.baseAddress?.advanced(by: cursor.next), cursor.end - cursor.next
    ) { unsafe SSL_read_ex(ssl, buffer.baseAddress, TLSRecords.contentBytesMax, &count) }
    cursor.next += taken
    takeOutput(workspace)
    if hasRefusedRenegotiation { return .failed(.renegotiation) }
    if keyUpdates > TLSRecords.keyUpdatesMax { return .failed(.keyUpdates) }
    if result == 1 {
      keyUpdates = 0
      return .plain(0..<count)
    }
    switch unsafe SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .needMoreBytes
    case SSL_ERROR_ZERO_RETURN: return .closed
    default: return .failed(.takeLast())
    }
  }

  func seal(_ plain: UnsafeRawBufferPointer, _ workspace: TLSWorkspace) -> Int? {
    switch stage {
    case .records:
      guard let records else { return nil }
      workspace.channel.output.removeAll(keepingCapacity: true)
      return unsafe records.seal(
        plain, room: TLSSession.sealBytesMax, workspace.aead, output: &workspace.channel.output)
    case .library:
      guard let ssl = unsafe ssl, plain.count > 0 else { return 0 }
      unsafe begin(ssl, workspace)
      var written = 0
      let count = min(plain.count, TLSSession.sealBytesMax)
      // SAFETY: the bytes are read during the call; the channel accepts all of their ciphertext.
      if unsafe SSL_write_ex(ssl, plain.baseAddress, count, &written) == 1 { return written }
      ERR_clear_error()
      stage = .over
      return nil
    case .handshaking, .over: return nil
    }
  }

  func close(_ workspace: TLSWorkspace) {
    switch stage {
    case .records:
      records?.close(workspace.aead, &unsent)
      forget(workspace)
    case .library:
      guard let ssl = unsafe ssl else { return }
      unsafe begin(ssl, workspace)
      _ = unsafe SSL_shutdown(ssl)
      ERR_clear_error()
      takeOutput(workspace)
    case .handshaking, .over: return
    }
    stage = .over
  }

  func forget(_ workspace: TLSWorkspace) { records?.forget(workspace.aead) }

  func resumption() -> TLSResumption? {
    guard let ssl = unsafe ssl, let session = unsafe SSL_get1_session(ssl) else { return nil }
    return unsafe TLSResumption(owning: session)
  }

  func requestKeyUpdate(_ workspace: TLSWorkspace) {
    guard stage == .library, let ssl = unsafe ssl else { return }
    unsafe begin(ssl, workspace)
    _ = unsafe SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
    _ = unsafe SSL_do_handshake(ssl)
    ERR_clear_error()
    takeOutput(workspace)
  }

  /// For the self-test: our record layers of both directions, beside OpenSSL's.
  func examined() -> (server: TLSRecords, client: TLSRecords)? {
    guard let notes, notes.isExamined, let own = records,
      let theirs = notes.records(own.suite, ofServer: false)
    else { return nil }
    return (own, theirs)
  }

  /// Called before each call of OpenSSL, to remove the state of other connections and earlier
  /// calls.
  private func begin(_ ssl: OpaquePointer, _ workspace: TLSWorkspace) {
    unsafe workspace.channel.attach(ssl, of: self)
    workspace.channel.output.removeAll(keepingCapacity: true)
    ERR_clear_error()
  }

  private func takeOutput(_ workspace: TLSWorkspace) {
    guard !workspace.channel.output.isEmpty else { return }
    unsent += workspace.channel.output
    workspace.channel.output.removeAll(keepingCapacity: true)
  }
}
