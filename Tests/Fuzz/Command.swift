// Fuzz target: the commands of chirrup.v1. Accepted tokens lie inside the message, decode to text
// that PostgreSQL can store, and are unchanged by encoding and decoding again.
import Chat
import JSON
import Primitives

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  // The frame decoder accepts only UTF-8.
  guard String(validating: input, as: UTF8.self) != nil else { return 0 }
  paced(count) { input.withRawSpan { read($0) } }
  return 0
}

private func read(_ text: RawSpan) {
  var decoder = CommandDecoder()
  // Every command or fault consumes at least one byte.
  for _ in 0...text.byteCount {
    do throws(CommandFault) {
      guard let command = try decoder.next(text) else { return }
      check(command, text)
      check(decoder.ref)
    } catch {
      check(decoder.ref)
      decoder.skipLine(text)
    }
  }
  preconditionFailure("the decoder does not end")
}

private func check(_ command: Command, _ text: RawSpan) {
  for number in [command.after, command.before, command.tail, command.limit, command.seq] {
    let range = 0...CommandDecoder.integerMax
    precondition(number.map { range.contains($0) } ?? true, "a number out of range")
  }
  for token in [command.body, command.token, command.preview, command.epoch] {
    if let token { checkText(token, text) }
  }
  if let payload = command.payload { checkPayload(text.extracting(payload.range)) }
  if let subscriptions = command.subscriptions {
    var seen = 0
    try? CommandDecoder.subscriptions(of: subscriptions, in: text) { _ in seen += 1 }
    precondition(seen <= subscriptions.range.count, "more elements than bytes")
  }
}

private func check(_ ref: Reference) {
  guard ref != .none else { return }
  var bytes: [UInt8] = []
  ref.append(to: &bytes)
  precondition(isJSON(bytes), "a ref that cannot be sent back")
}

/// Decoding, quoting and decoding again must give the same text.
private func checkText(_ token: JSONScanner.Token, _ text: RawSpan) {
  var decoded: [UInt8] = []
  guard (try? JSONText.decode(token, in: text, to: &decoded)) != nil else { return }
  precondition(String(validating: decoded, as: UTF8.self) != nil, "text not UTF-8")
  var quoted: [UInt8] = []
  JSONText.append(quoted: decoded, to: &quoted)
  precondition(!quoted.contains { $0 < 0x20 }, "a line feed inside a string")
  quoted.withRawSpan { span in
    var scanner = JSONScanner()
    guard let again = try? scanner.value(span, depth: 0), again.kind == .string,
      scanner.isAtEnd(span)
    else { preconditionFailure("a quoted text is not a string") }
    var twice: [UInt8] = []
    let isDecoded = (try? JSONText.decode(again, in: span, to: &twice)) != nil
    precondition(twice == decoded || !isDecoded && decoded.contains(0), "the text has changed")
  }
}

private func checkPayload(_ payload: RawSpan) {
  var compact: [UInt8] = []
  guard (try? JSONText.appendCompact(payload, to: &compact)) != nil else { return }
  precondition(!compact.contains { $0 < 0x20 }, "a line feed inside a payload")
  precondition(isJSON(compact), "a compact payload is not JSON")
  compact.withRawSpan { span in
    var again: [UInt8] = []
    try? JSONText.appendCompact(span, to: &again)
    precondition(again == compact, "compacting twice changes it")
  }
}

private func isJSON(_ bytes: [UInt8]) -> Bool {
  bytes.withRawSpan { span in
    var scanner = JSONScanner()
    return (try? scanner.value(span, depth: 0)) != nil && scanner.isAtEnd(span)
  }
}
