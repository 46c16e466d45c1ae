// Fuzz target: offers of permessage-deflate. The agreement must be within the offer and the policy,
// and the client must be able to parse it.
//
// The first byte of the input chooses the policy; the rest is fields, separated by line feeds.
import Primitives
import Wire

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let policy = DeflatePolicy(
    allowsContext: input[0] & 8 != 0, contextWindowBits: 9 + input[0] & 7 % 7)
  // `RequestHead` replaces invalid UTF-8 in the same way.
  let fields = input[1...].split(separator: 0x0A, omittingEmptySubsequences: false).map {
    String(decoding: $0, as: UTF8.self)
  }
  paced(count) {
    if let agreement = policy.agree(on: fields) { check(agreement, policy, fields) }
    checkMore(policy, fields)
    for field in fields { checkAnswer(field) }
  }
  return 0
}

private func check(_ agreement: DeflateAgreement, _ policy: DeflatePolicy, _ fields: [String]) {
  let text = fields.joined(separator: ",")
  precondition(text.contains("permessage-deflate"), "an agreement without an offer")
  precondition((9...15).contains(agreement.serverWindowBits), "a window that zlib does not support")
  precondition((8...15).contains(agreement.clientWindowBits), "an invalid window")
  if policy.allowsContext {
    precondition(
      agreement.serverForgets || agreement.serverWindowBits <= policy.contextWindowBits,
      "more memory than configured")
    precondition(
      agreement.clientForgets || agreement.clientWindowBits <= policy.contextWindowBits,
      "more memory than configured")
  } else {
    precondition(agreement.serverForgets && agreement.clientForgets, "a context despite the policy")
  }
  let value = agreement.fieldValue
  precondition(value.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }, "a field with a control character")
  precondition(
    !value.contains("client_max") || text.contains("client_max_window_bits"),
    "a parameter that was not offered")
  guard let back = DeflateAgreement(answer: value) else {
    preconditionFailure("an unreadable answer")
  }
  precondition(back.serverForgets == agreement.serverForgets, "a different agreement")
  precondition(back.clientForgets == agreement.clientForgets, "a different agreement")
  precondition(
    back.serverWindowBits >= agreement.serverWindowBits, "a smaller window than announced")
}

/// A later offer does not change an agreement. Without an agreement it is accepted, unless the list
/// is malformed.
private func checkMore(_ policy: DeflatePolicy, _ fields: [String]) {
  let before = policy.agree(on: fields)
  let after = policy.agree(on: fields + ["permessage-deflate"])
  if let before { precondition(after == before, "a later offer was preferred") }
  let first = policy.agree(on: ["permessage-deflate; server_max_window_bits=9"] + fields)
  precondition((after == nil) == (first == nil), "malformed depending on the order")
  if after == nil { precondition(before == nil, "a valid field makes a list malformed") }
}

private func checkAnswer(_ field: String) {
  guard let agreement = DeflateAgreement(answer: field) else { return }
  precondition(
    DeflateAgreement(answer: agreement.fieldValue) == agreement,
    "a different agreement after parsing")
}
