// Fuzz target: HTTP heads, request targets and the opening handshake. An accepted head is
// unambiguous, and its texts contain no line break that could split a response or a log line.
import Primitives
import Wire

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let found = scan(input, step: max(1, input.count))
  precondition(scan(input, step: 1) == found, "the result differs byte by byte")
  precondition(scan(input, step: 13) == found, "the result differs in pieces")
  guard case .success(let end?) = found else { return 0 }
  input.withRawSpan { span in
    let head = span.extracting(0..<end)
    paced(end) { _ = try? RequestHead.parse(head) }
    if let request = try? RequestHead.parse(head) { check(request) }
    if let response = try? ResponseHead.parse(head) {
      precondition((100...599).contains(response.status), "an invalid status")
      check(response.fields)
    }
  }
  return 0
}

private func scan(_ input: [UInt8], step: Int) -> Result<Int?, HeadFault> {
  var scanner = HeadScanner()
  return input.withRawSpan { span in
    var count = 0
    while count < span.byteCount {
      count = min(count + step, span.byteCount)
      do throws(HeadFault) {
        if let end = try scanner.scan(span.extracting(0..<count)) { return .success(end) }
      } catch {
        return .failure(error)
      }
    }
    return .success(nil)
  }
}

private func check(_ request: RequestHead) {
  precondition(
    request.path == "*" || request.path.utf8.first == UInt8(ascii: "/"), "an invalid path")
  for segment in request.path.split(separator: "/") {
    precondition(segment != "." && segment != "..", "a path with dot segments")
  }
  precondition(isOneLine(request.path), "a path with a control character")
  precondition((request.contentLength ?? 0) >= 0, "a negative length")
  precondition(request.minorVersion == 0 || request.minorVersion == 1, "an invalid version")
  check(request.fields)
  precondition(
    request.minorVersion == 0 || request.fields.values(of: "host").count == 1, "not one host")
  precondition(request.fields.values(of: "transfer-encoding").isEmpty, "a transfer coding")
  _ = (request.isKeepAlive, request.query("a"), request.cookie("a"))
  switch Upgrade.evaluate(request, subprotocol: "chirrup.v1") {
  case .accept(let response, _):
    response.withRawSpan { span in
      var scanner = HeadScanner()
      precondition((try? scanner.scan(span)) == span.byteCount, "a response with two heads")
      let head = try? ResponseHead.parse(span)
      precondition(head?.status == 101, "not a 101")
      precondition((3...4).contains(head?.fields.all.count ?? 0), "a field too many")
    }
  case .refuse(let refusal):
    precondition([400, 405, 426].contains(refusal.status), "an unknown refusal")
  }
}

private func check(_ fields: HeadFields) {
  precondition(fields.all.count <= HeadLimits.fields, "too many fields")
  for field in fields.all {
    precondition(
      !field.name.isEmpty && field.name == field.name.lowercased(), "an invalid field name")
    precondition(
      isOneLine(field.name) && isOneLine(field.value), "a field with a control character")
    precondition(field.value.utf8.first != UInt8(ascii: " "), "space around a value")
  }
}

private func isOneLine(_ text: String) -> Bool {
  !text.utf8.contains { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F }
}
