import Primitives
import Testing
import Wire

func parse(_ text: String) -> Result<RequestHead, HeadFault> { parse(bytes(text)) }

func parse(_ head: [UInt8]) -> Result<RequestHead, HeadFault> {
  do throws(HeadFault) {
    return .success(
      try head.withRawSpan { (span) throws(HeadFault) in try RequestHead.parse(span) })
  } catch {
    return .failure(error)
  }
}

/// A request with one Host and these further lines.
private func request(_ line: String, _ fields: String...) -> Result<RequestHead, HeadFault> {
  parse(line + "\r\nHost: example.test\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
}

@Suite struct RequestHeadTests {
  @Test("a request gives its method, path, query and fields (RFC 9112 §3, §5)")
  func whole() throws {
    let head = try request(
      "POST /api/v1/messages/caf%C3%A9?q=a%20b+c&flag&empty=&q=second HTTP/1.1",
      "Content-Type:application/json", "X-Padded: \t two words \t ", "Content-Length: 12",
      "Accept: text/html", "accept: application/json"
    ).get()
    #expect(head.method == .post && head.minorVersion == 1)
    #expect(head.path == "/api/v1/messages/café")
    #expect(head.query("q") == "a b c" && head.query("flag") == "" && head.query("empty") == "")
    #expect(head.query("missing") == nil)
    #expect(head.value(of: "content-type") == "application/json")
    #expect(head.value(of: "x-padded") == "two words")
    #expect(head.values(of: "accept") == ["text/html", "application/json"])
    #expect(head.value(of: "accept") == "text/html, application/json")
    #expect(head.value(of: "missing") == nil)
    #expect(head.contentLength == 12)
  }

  @Test("methods are tokens compared by case (RFC 9110 §9.1)")
  func methods() throws {
    for method: RequestHead.Method in [.get, .head, .post, .put, .patch, .delete, .options] {
      #expect(try request("\(method) / HTTP/1.1").get().method == method)
    }
    #expect(try request("get / HTTP/1.1").get().method == .other("get"))
    #expect(try request("PROPFIND / HTTP/1.1").get().method == .other("PROPFIND"))
    #expect(try request("OPTIONS * HTTP/1.1").get().path == "*")
  }

  @Test("Keep-alive is the default of HTTP/1.1 and the exception of HTTP/1.0 (RFC 9112 §9.3)")
  func keepAlive() throws {
    #expect(try request("GET / HTTP/1.1").get().isKeepAlive)
    #expect(try !request("GET / HTTP/1.1", "Connection: Upgrade, CLOSE").get().isKeepAlive)
    #expect(try !request("GET / HTTP/1.0").get().isKeepAlive)
    #expect(try request("GET / HTTP/1.0", "connection: Keep-Alive").get().isKeepAlive)
    #expect(try parse("GET / HTTP/1.0\r\n\r\n").get().minorVersion == 0)
    #expect(try request("GET / HTTP/1.9").get().minorVersion == 1)
  }

  @Test("a cookie is found among others, quoted or not (RFC 6265 §4.1.1)")
  func cookies() throws {
    let head = try request("GET / HTTP/1.1", "Cookie: a=1; session=tok=en;b=\"two\"").get()
    #expect(head.cookie("a") == "1" && head.cookie("session") == "tok=en")
    #expect(head.cookie("b") == "two" && head.cookie("ession") == nil)
  }

  @Test("bytes above 7F in a value are kept as text or replaced, never raw (H16)")
  func obsoleteText() throws {
    let start = bytes("GET / HTTP/1.1\r\nHost: a\r\nX: ")
    #expect(try parse(start + bytes("né\r\n\r\n")).get().value(of: "x") == "né")
    #expect(
      try parse(start + [0x61, 0xFF] + bytes("\r\n\r\n")).get().value(of: "x") == "a\u{FFFD}")
  }

  @Test("100 fields and 100 parameters pass, 101 do not (H14)")
  func counts() {
    func fields(_ count: Int) -> String {
      "GET / HTTP/1.1\r\nHost: a\r\n"
        + (1..<count).map { "X\($0): y\r\n" }.joined() + "\r\n"
    }
    #expect(throws: Never.self) { try parse(fields(100)).get() }
    #expect(parse(fields(101)) == .failure(.tooManyFields))
    #expect(HeadFault.tooManyFields.status == 431)
    func query(_ count: Int) -> String {
      "GET /?" + (0..<count).map { "a\($0)=b" }.joined(separator: "&&") + " HTTP/1.1"
    }
    #expect(throws: Never.self) { try request(query(100)).get() }
    #expect(request(query(101)) == .failure(.tooManyParameters))
  }
}

private let badTargets: [(target: String, fault: HeadFault)] = [
  ("/a/../b", .targetInvalid), ("/..", .targetInvalid), ("/./a", .targetInvalid),
  ("/%2e%2e/etc", .targetInvalid), ("/.%2E/etc", .targetInvalid), ("/a%2Fb", .targetInvalid),
  ("/a%5cb", .targetInvalid), ("/%00", .escapeInvalid), ("/%0d%0aX:y", .escapeInvalid),
  ("/?a=%0A", .escapeInvalid), ("/%", .escapeInvalid), ("/%4", .escapeInvalid),
  ("/%zz", .escapeInvalid), ("/%ff", .escapeInvalid), ("/%c0%af", .escapeInvalid),
  ("/?%ed%a0%80=1", .escapeInvalid), ("/a#b", .targetInvalid),
  ("http://example.test/", .targetInvalid),
  ("example.test:443", .targetInvalid), ("a", .targetInvalid), ("*", .targetInvalid),
  ("/caf\u{E9}", .targetInvalid), ("/a\tb", .targetInvalid),
]

@Suite struct RequestTargetTests {
  @Test("targets that could be read in two ways are refused (RFC 3986 §6, H18)")
  func refused() {
    for (target, fault) in badTargets {
      #expect(request("GET \(target) HTTP/1.1") == .failure(fault), "\(target)")
    }
  }

  @Test("a path is decoded once, and empty segments stay")
  func decodedOnce() throws {
    #expect(try request("GET /%2561//b HTTP/1.1").get().path == "/%61//b")
    #expect(try request("GET /...//.a HTTP/1.1").get().path == "/...//.a")
    #expect(try request("GET /?next=%2Fa%3Fb HTTP/1.1").get().query("next") == "/a?b")
    #expect(try request("GET /?a=b=c?d HTTP/1.1").get().query("a") == "b=c?d")
    #expect(try request("GET /? HTTP/1.1").get().path == "/")
  }

  @Test("a target of 8 KiB passes, one byte more is 414")
  func length() throws {
    let full = "/" + String(repeating: "a", count: HeadLimits.targetBytes - 1)
    #expect(try request("GET \(full) HTTP/1.1").get().path == full)
    #expect(request("GET \(full)a HTTP/1.1") == .failure(.targetTooLong))
  }
}

/// Whole heads that enable request smuggling or are malformed, each with its fault.
private let refusedHeads: [(head: String, fault: HeadFault)] = [
  // The request line (RFC 9112 §3).
  ("GET /\r\n\r\n", .requestLineInvalid),
  ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", .requestLineInvalid),
  ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", .requestLineInvalid),
  (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", .requestLineInvalid),
  ("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", .requestLineInvalid),
  ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", .requestLineInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\n\r\nmore\r\n\r\n", .requestLineInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\n", .requestLineInvalid),
  ("GET / http/1.1\r\nHost: a\r\n\r\n", .versionInvalid),
  ("GET / HTTP/1\r\nHost: a\r\n\r\n", .versionInvalid),
  ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", .versionInvalid),
  ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", .versionUnsupported),
  ("PRI * HTTP/2.0\r\n\r\n", .versionUnsupported),
  ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", .versionUnsupported),
  // Host (§3.2).
  ("GET / HTTP/1.1\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.1\r\nHost:\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", .hostInvalid),
  ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", .hostInvalid),
  // Fields (§5).
  ("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", .fieldInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", .fieldInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", .fieldInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\nX(: y\r\n\r\n", .fieldInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\nX\u{E9}: y\r\n\r\n", .fieldInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", .fieldFolded),
  ("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tfolded\r\n\r\n", .fieldFolded),
  ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .fieldFolded),
  ("GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", .controlCharacter),
  ("GET / HTTP/1.1\r\nHost: a\r\nX: y\0\r\n\r\n", .controlCharacter),
  // The length of the body (§6).
  (
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
    .contentLengthInvalid
  ),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", .contentLengthInvalid),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", .contentLengthInvalid),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", .contentLengthInvalid),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", .contentLengthInvalid),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n", .contentLengthInvalid),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", .contentLengthInvalid),
  (
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    .contentLengthInvalid
  ),
  (
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    .transferCodingInvalid
  ),
  ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", .transferCodingInvalid),
  (
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
    .transferCodingInvalid
  ),
  (
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
    .transferCodingInvalid
  ),
  ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", .fieldInvalid),
  ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", .transferCodingInvalid),
  ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", .transferCodingInvalid),
  ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", .transferCodingUnsupported),
]

@Suite struct RequestSmugglingTests {
  @Test("heads with two meanings, or none, are refused (RFC 9112 §11.2, H04, H07, H15, H17, H24)")
  func refused() {
    for (head, fault) in refusedHeads {
      #expect(parse(head) == .failure(fault), "\(head.debugDescription)")
    }
  }

  @Test("every fault has one of the six statuses", arguments: HeadFault.allCases)
  func statuses(_ fault: HeadFault) {
    #expect([400, 414, 417, 431, 501, 505].contains(fault.status))
    #expect(ResponseHead.reasonPhrase(of: fault.status).description != "Status")
  }

  @Test("no cut and no changed byte of a valid head makes the reader trap")
  func mutations() {
    let head = bytes(
      "POST /a%20b?c=d&e HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 5\r\nX: y\r\n\r\n")
    for count in 0..<head.count { _ = parse(Array(head.prefix(count))) }
    for offset in head.indices {
      for byte in UInt8.min...UInt8.max {
        var spoilt = head
        spoilt[offset] = byte
        _ = parse(spoilt)
      }
    }
  }
}
