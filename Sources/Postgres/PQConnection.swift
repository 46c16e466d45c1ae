import CLibpq
import Glibc
import Primitives

/// One connection of libpq, owned and closed by this value. It is the only file that sends data to
/// PostgreSQL; its users (`BlockingConnection`, `QueryConnection` and the journal's writer) decide
/// when to wait.
@safe package struct PQConnection: ~Copyable {
  package enum Progress: Sendable { case waiting, ready, failed }
  package enum Flushed: Sendable { case all, some, failed }

  private let handle: OpaquePointer
  /// The socket state that `PQconnectPoll` waits for.
  private var waitsToWrite = true
  /// Whether libpq can parse the URL without revealing a password in its messages.
  private let isReadable: Bool

  // SAFETY (whole type): `handle` comes from libpq, is never nil, is closed only in `deinit`, and
  // is used by one thread at a time, because the type is not copyable and not Sendable.
  deinit { unsafe PQfinish(handle) }

  private init(handle: OpaquePointer, url: String) {
    unsafe self.handle = unsafe handle
    // SAFETY: as above.
    isReadable = unsafe PQstatus(handle) != CONNECTION_BAD || PQConnection.isReadable(url)
  }

  /// Starts to connect without blocking, except for the resolution of a host name and the connect
  /// of a Unix socket. Nil if memory is exhausted.
  package static func start(url: String, readWrite: Bool = false) -> PQConnection? {
    guard
      let handle = unsafe withParameters(
        url: url, readWrite: readWrite,
        { keywords, values in
          // SAFETY: both arrays end with nil and live through the call.
          unsafe PQconnectStartParams(keywords, values, 1)
        })
    else { return nil }
    let pq = unsafe PQConnection(handle: handle, url: url)
    pq.silenceNotices()
    return pq
  }

  /// Connects, blocking for at most 10 seconds.
  package static func connect(url: String) throws(QueryFailure) -> PQConnection {
    guard
      let handle = unsafe withParameters(
        url: url, readWrite: false,
        { keywords, values in
          // SAFETY: both arrays end with nil and live through the call.
          unsafe PQconnectdbParams(keywords, values, 1)
        })
    else { throw .unavailable(reason: "out of memory") }
    let pq = unsafe PQConnection(handle: handle, url: url)
    pq.silenceNotices()
    guard !pq.isBroken else { throw .unavailable(reason: pq.errorMessage) }
    return pq
  }

  private static func withParameters(
    url: String, readWrite: Bool,
    _ connect: (
      UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>
    ) -> OpaquePointer?
  ) -> OpaquePointer? {
    // Options before `dbname` are defaults, those after it override the URL (manual 34.1.1). TCP
    // detects a vanished peer after 10 seconds.
    let readWriteOnly = ("target_session_attrs", "read-write")
    let pairs: [(String, String)] =
      (SeveralHosts.areNamed(in: url) ? [readWriteOnly] : []) + [
        ("fallback_application_name", "chirrup"), ("connect_timeout", "10"),
        ("keepalives_idle", "10"),
        ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "10000"),
        ("dbname", url), ("client_encoding", "UTF8"),
      ] + (readWrite ? [readWriteOnly] : [])
    let names = unsafe pairs.map { unsafe strdup($0.0) }
    let texts = unsafe pairs.map { unsafe strdup($0.1) }
    defer {
      for index in pairs.indices {
        unsafe free(names[index])
        unsafe free(texts[index])
      }
    }
    // SAFETY: the copies are freed after `connect` has returned.
    var keywords = unsafe names.map { unsafe UnsafePointer($0) }
    var values = unsafe texts.map { unsafe UnsafePointer($0) }
    unsafe keywords.append(nil)
    unsafe values.append(nil)
    return unsafe keywords.withUnsafeBufferPointer { names in
      unsafe values.withUnsafeBufferPointer { texts in
        guard let first = names.baseAddress, let other = texts.baseAddress else { return nil }
        return unsafe connect(first, other)
      }
    }
  }

  // MARK: State

  package var isBroken: Bool {
    // SAFETY: see the type.
    unsafe PQstatus(handle) == CONNECTION_BAD
  }

  /// -1 without a socket. While connecting it may change, even to another socket with the same
  /// number.
  package var descriptor: Int32 {
    // SAFETY: see the type.
    unsafe PQsocket(handle)
  }

  /// Whether the connection goes through a pooler: it assigns its own process numbers to clients,
  /// and executes each transaction in another backend. Session state then lasts only for a
  /// transaction: prepared statements, settings, advisory locks.
  package func isPooled(answeredBy process: Int64?) -> Bool {
    // SAFETY: see the type.
    process != Int64(unsafe PQbackendPID(handle))
  }

  static let malformed =
    "the database's URL or connection string is malformed; in a password write @ as %40, / as %2F"

  package var errorMessage: String {
    guard isReadable else { return PQConnection.malformed }
    // SAFETY: libpq keeps the message, a C string, until the next call on this connection.
    guard let text = unsafe PQerrorMessage(handle) else { return "" }
    let message = unsafe String(cString: text)
    return message.split { $0 == "\n" || $0 == "\t" }.joined(separator: " ")
  }

  /// False where libpq's message would contain a part that may belong to a password: an unparsable
  /// text, and a port or host that started in a password with an unescaped `/` or `@`.
  private static func isReadable(_ url: String) -> Bool {
    // SAFETY: the text is copied into a C string for the call; the options end with one without a
    // keyword, are read before they are freed, and are freed once.
    guard let first = unsafe PQconninfoParse(url, nil) else { return false }
    defer { unsafe PQconninfoFree(first) }
    var option = unsafe first
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        let text = unsafe String(cString: value)
        switch unsafe String(cString: keyword) {
        case "port" where !text.utf8.allSatisfy({ $0 == 0x2C || $0.isASCIIDigit }):
          return false
        case "host" where text.contains("@"): return false
        default: break
        }
      }
      unsafe option += 1
    }
    return true
  }

  /// While connecting: whether to wait until the socket is writable instead of readable.
  package var connectWantsWrite: Bool { waitsToWrite }

  /// Continues connecting without blocking.
  package mutating func advanceConnect() -> Progress {
    // PQconnectPoll may only be called when the socket is ready for the awaited state (manual
    // 34.1).
    var interest = pollfd(
      fd: descriptor, events: Int16(waitsToWrite ? POLLOUT : POLLIN), revents: 0)
    // SAFETY: one descriptor, and the call does not wait.
    guard unsafe poll(&interest, 1, 0) != 0 else { return .waiting }
    // SAFETY: see the type.
    switch unsafe PQconnectPoll(handle) {
    case PGRES_POLLING_OK:
      // SAFETY: see the type.
      guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1 else {
        return .failed
      }
      return .ready
    case PGRES_POLLING_READING:
      waitsToWrite = false
      return .waiting
    case PGRES_POLLING_WRITING:
      waitsToWrite = true
      return .waiting
    default: return .failed
    }
  }

  // MARK: Sending, into libpq's buffer, which `flush` sends

  package func prepare(_ name: String, _ sql: SQL, types: [UInt32]) -> Bool {
    // SAFETY: the text ends with NUL; libpq copies everything before it returns.
    unsafe sql.withCText { text in
      unsafe PQsendPrepare(handle, name, text, Int32(types.count), types) == 1
    }
  }

  package func execute(_ name: String, _ parameters: ParameterBuffer) -> Bool {
    // SAFETY: the text lives through the call.
    unsafe name.withCString { unsafe execute(named: $0, parameters) }
  }

  /// Avoids a copy of the name.
  package func execute(prepared name: StaticString, _ parameters: ParameterBuffer) -> Bool {
    // SAFETY: a StaticString ends with NUL.
    unsafe name.withCText { unsafe execute(named: $0, parameters) }
  }

  private func execute(named name: UnsafePointer<CChar>, _ parameters: ParameterBuffer) -> Bool {
    // SAFETY: the arrays have `count` elements; libpq copies everything before it returns.
    unsafe parameters.withPointers { count, values, lengths, formats in
      unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) == 1
    }
  }

  /// Sends a statement without preparing it.
  package func execute(text: SQL, _ parameters: ParameterBuffer) -> Bool {
    // SAFETY: the arrays have `count` elements; libpq copies everything before it returns.
    unsafe parameters.withPointers { count, values, lengths, formats in
      unsafe text.withCText {
        unsafe PQsendQueryParams(
          handle, $0, count, parameters.types, values, lengths, formats, 1) == 1
      }
    }
  }

  package func execute(text: SQL) -> Bool {
    // SAFETY: the text ends with NUL; libpq copies it.
    unsafe text.withCText { unsafe PQsendQueryParams(handle, $0, 0, nil, nil, nil, nil, 1) == 1 }
  }

  /// Ends a group of statements: an error undoes those since the last one.
  package func sync() -> Bool {
    // SAFETY: see the type.
    unsafe PQpipelineSync(handle) == 1
  }

  package func flush() -> Flushed {
    // SAFETY: see the type.
    switch unsafe PQflush(handle) {
    case 0: .all
    case 1: .some
    default: .failed
    }
  }

  // MARK: Receiving

  /// Reads the available bytes. False when the connection is lost.
  package func receive() -> Bool {
    // SAFETY: see the type.
    unsafe PQconsumeInput(handle) == 1
  }

  /// Whether `next()` would block.
  package var isBusy: Bool {
    // SAFETY: see the type.
    unsafe PQisBusy(handle) == 1
  }

  /// Returns nil after the last result of each statement.
  package func next() -> Answer? {
    // SAFETY: the result is new and owned by the caller.
    guard let result = unsafe PQgetResult(handle) else { return nil }
    return unsafe Answer(result)
  }

  /// The payload of the next NOTIFY to this session; nil without any.
  package func nextNotification() -> String? {
    // SAFETY: the notification is owned by the caller, who frees it; its text ends with NUL.
    guard let notification = unsafe PQnotifies(handle) else { return nil }
    defer { unsafe PQfreemem(notification) }
    return unsafe String(cString: notification.pointee.extra)
  }

  // MARK: Blocking (command line, migrations and tests)

  func runWaiting(_ sql: SQL, _ parameters: ParameterBuffer) -> Answer? {
    // SAFETY: the arrays have `count` elements, and the text ends with NUL.
    let result = unsafe parameters.withPointers { count, values, lengths, formats in
      unsafe sql.withCText {
        unsafe PQexecParams(
          handle, $0, count, parameters.types, values, lengths, formats, 1)
      }
    }
    guard let result = unsafe result else { return nil }
    return unsafe Answer(result)
  }

  func runWaiting(script: String) -> Answer? {
    // SAFETY: the result is new and owned by the caller.
    guard let result = unsafe PQexec(handle, script) else { return nil }
    return unsafe Answer(result)
  }

  /// One statement, with a binary answer like all others.
  func runWaiting(statement: String) -> Answer? {
    // SAFETY: there are no parameters; the result is new and owned by the caller.
    guard let result = unsafe PQexecParams(handle, statement, 0, nil, nil, nil, nil, 1) else {
      return nil
    }
    return unsafe Answer(result)
  }

  // MARK: Notices

  /// Drops notices, which libpq would print to standard error.
  private func silenceNotices() {
    // SAFETY: the function uses none of its arguments.
    unsafe _ = PQsetNoticeReceiver(handle, { _, _ in }, nil)
  }

  /// `collector` must live as long as the connection; its owner owns both.
  func sendNotices(to collector: NoticeCollector) {
    let context = unsafe Unmanaged.passUnretained(collector).toOpaque()
    // SAFETY: the context is the collector, which lives as long as the connection; libpq calls on
    // our thread.
    unsafe _ = PQsetNoticeReceiver(
      handle,
      { context, result in
        guard let context = unsafe context,
          let text = unsafe PQresultErrorField(result, 0x4D)
        else { return }
        unsafe Unmanaged<NoticeCollector>.fromOpaque(context).takeUnretainedValue()
          .take(String(cString: text))
      }, context)
  }
}

/// Receives the notices of a connection, such as `RAISE NOTICE` of a migration.
final class NoticeCollector {
  /// Nil while notices are dropped.
  var texts: [String]?
  func take(_ text: String) { texts?.append(text) }
}

extension StaticString {
  func withCText<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    // SAFETY: a StaticString's UTF-8 ends with NUL and is permanent; CChar has the layout of UInt8.
    unsafe utf8Start.withMemoryRebound(to: CChar.self, capacity: utf8CodeUnitCount + 1) {
      unsafe body($0)
    }
  }
}

extension ParameterBuffer {
  /// Lends the values in libpq's form: an address (nil for NULL), a length and a format for each.
  fileprivate func withPointers<Result>(
    _ body: (
      Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
    ) -> Result
  ) -> Result {
    // SAFETY: every extent is inside `bytes`, which does not change during the call. A value of
    // length 0 still needs an address, because libpq would send NULL: `bytes` has one even when it
    // is empty. The three lists are written up to `count` before they are lent; they are on the
    // stack, because a batch has five statements.
    unsafe bytes.withUnsafeBytes { raw in
      let base = unsafe raw.baseAddress ?? UnsafeRawPointer(("" as StaticString).utf8Start)
      return unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) {
        values in
        unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { numbers in
          for (index, extent) in extents.enumerated() {
            let value = unsafe extent.map {
              unsafe (base + $0.lowerBound).assumingMemoryBound(to: CChar.self)
            }
            unsafe values.initializeElement(at: index, to: value)
            unsafe numbers.initializeElement(at: index, to: Int32(extent?.count ?? 0))
            unsafe numbers.initializeElement(at: count + index, to: 1)  // binary
          }
          let lengths = unsafe UnsafePointer(numbers.baseAddress)
          return unsafe body(
            Int32(count), UnsafePointer(values.baseAddress), lengths,
            lengths.map { unsafe $0 + count })
        }
      }
    }
  }
}
