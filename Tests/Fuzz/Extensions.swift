// Fuzz target: the offers of permessage-deflate. Whatever a client offers, what is agreed is within
// what was asked for and configured, and the client can read it back.
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
  // The head's reader makes the same replacement where a field is no UTF-8.
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
  precondition(text.contains("permessage-deflate"), "agreed to what was not offered")
  precondition((9...15).contains(agreement.serverWindowBits), "a window that zlib has not")
  precondition((8...15).contains(agreement.clientWindowBits), "a window that does not exist")
  if policy.allowsContext {
    precondition(
      agreement.serverForgets || agreement.serverWindowBits <= policy.contextWindowBits,
      "more memory than configured")
    precondition(
      agreement.clientForgets || agreement.clientWindowBits <= policy.contextWindowBits,
      "more memory than configured")
  } else {
    precondition(agreement.serverForgets && agreement.clientForgets, "context against the policy")
  }
  let value = agreement.fieldValue
  precondition(value.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }, "a field of two lines")
  precondition(
    !value.contains("client_max") || text.contains("client_max_window_bits"), "not asked for")
  guard let back = DeflateAgreement(answer: value) else {
    preconditionFailure("an answer that no client can read")
  }
  precondition(back.serverForgets == agreement.serverForgets, "another agreement")
  precondition(back.clientForgets == agreement.clientForgets, "another agreement")
  precondition(
    back.serverWindowBits >= agreement.serverWindowBits, "less than the client was told")
}

/// An offer behind all others changes nothing where there was an agreement; where there was none it
/// is taken, unless the list is malformed, which then stays so.
private func checkMore(_ policy: DeflatePolicy, _ fields: [String]) {
  let before = policy.agree(on: fields)
  let behind = policy.agree(on: fields + ["permessage-deflate"])
  if let before { precondition(behind == before, "a later offer was preferred") }
  let inFront = policy.agree(on: ["permessage-deflate; server_max_window_bits=9"] + fields)
  precondition((behind == nil) == (inFront == nil), "well formed from one side only")
  if behind == nil { precondition(before == nil, "a good field makes a list malformed") }
}

private func checkAnswer(_ field: String) {
  guard let agreement = DeflateAgreement(answer: field) else { return }
  precondition(DeflateAgreement(answer: agreement.fieldValue) == agreement, "reads back otherwise")
}
