import Primitives
import Testing
import Wire

private func parseResponse(_ text: String) -> Result<ResponseHead, HeadFault> {
  do throws(HeadFault) {
    return .success(
      try bytes(text).withRawSpan { (span) throws(HeadFault) in try ResponseHead.parse(span) })
  } catch {
    return .failure(error)
  }
}

@Suite struct ResponseHeadTests {
  @Test("a written head is a status line, fields and an empty line (RFC 9112 §4)")
  func writes() {
    var head: [UInt8] = []
    ResponseHead.appendStatusLine(404, to: &head)
    ResponseHead.appendField("Content-Length", 12, to: &head)
    ResponseHead.appendField("Content-Type", "text/plain", to: &head)
    ResponseHead.appendEnd(to: &head)
    #expect(
      String(decoding: head, as: UTF8.self)
        == "HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\nContent-Type: text/plain\r\n\r\n")
  }

  @Test("a value with CR, LF or NUL stays one value of one field (RFC 9110 §5.5, H25)")
  func injection() throws {
    var head: [UInt8] = []
    ResponseHead.appendStatusLine(200, to: &head)
    ResponseHead.appendField("Location", "/a\r\nSet-Cookie: x=1\r\n\r\n<html>\0\u{7F}", to: &head)
    ResponseHead.appendEnd(to: &head)
    let read = try parseResponse(String(decoding: head, as: UTF8.self)).get()
    #expect(read.fields.all.count == 1)
    #expect(read.fields.value(of: "location") == "/a  Set-Cookie: x=1    <html>")
  }

  @Test("a response is read with or without a reason")
  func reads() throws {
    #expect(try parseResponse("HTTP/1.1 204 No Content\r\n\r\n").get().status == 204)
    #expect(try parseResponse("HTTP/1.0 200\r\nA: b\r\n\r\n").get().fields.value(of: "a") == "b")
  }

  @Test(
    "a malformed status line is refused",
    arguments: [
      "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200", "HTTP/1.1 2x0 OK", "HTTP/1.1 099 X",
      "HTTP/1.1 600 X", "HTTP/1.1", "",
    ])
  func malformed(_ line: String) {
    #expect(throws: HeadFault.self) { try parseResponse(line + "\r\n\r\n").get() }
  }
}
