// Fuzz target: bodies of webhooks, from a platform or from somebody who has its secret. Each event
// has an id and an address that can be stored and sent, and a message within the limits of the log.
//
// The first byte chooses the platform.
import Channels
import Chat
import JSON
import Primitives

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  guard let platform = input.first else { return 0 }
  let body = Array(input.dropFirst())
  paced(count) { read(body, isLine: platform % 2 == 0) }
  return 0
}

private func read(_ body: [UInt8], isLine: Bool) {
  let line = LineChannel()
  let telegram = TelegramChannel()
  guard let events = isLine ? try? line.events(in: body) : try? telegram.events(in: body) else {
    return
  }
  if !isLine { precondition(JSONValue(telegram.answer(to: body)) != nil, "an answer without JSON") }
  for event in events {
    check(event)
    check(isLine ? line.meaning(of: event.payload) : telegram.meaning(of: event.payload))
  }
}

private func check(_ event: ReceivedEvent) {
  precondition((1...128).contains(event.id.unicodeScalars.count), "an id of another length")
  precondition(event.payload.count <= 4_096, "a payload that is longer than its body")
  guard let address = event.address else { return }
  precondition((1...128).contains(address.utf8.count), "an address of another length")
  precondition(isName(address), "an address that is no part of a URL")
}

private func check(_ meaning: InboundEvent) {
  if let token = meaning.replyToken { precondition(token.utf8.count <= 256, "a long token") }
  if let content = meaning.content {
    precondition(isName(content.id), "a content's id that is no part of a URL")
  }
  guard case .message(let key, let body, let payload) = meaning.kind else { return }
  precondition(!key.isEmpty && !body.isEmpty, "a message without a key or a text")
  precondition(body.utf8.count <= Limits.bodyBytes, "a text that the log refuses")
  precondition(!body.utf8.contains(0), "a text that PostgreSQL cannot store")
  precondition(payload.count <= Limits.payloadBytes, "a payload that the log refuses")
  precondition(payload.isEmpty || JSONValue(payload)?.object != nil, "a payload without JSON")
}

private func isName(_ text: String) -> Bool {
  text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-".utf8.contains($0) }
}
