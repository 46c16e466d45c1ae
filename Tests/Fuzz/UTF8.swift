// Fuzz target: Wire's UTF-8 validator against the standard library's, whole and in pieces.
import Primitives
import Wire

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let text = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let expected = String(validating: text, as: UTF8.self) != nil
  text.withRawSpan { span in
    precondition(UTF8Validator.isValid(span) == expected, "the two validators disagree")
    // Byte by byte, and cut at 16 offsets.
    var stepwise = UTF8Validator()
    var accepted = 0
    while accepted < span.byteCount, stepwise.accept(span, in: accepted..<accepted + 1) {
      accepted += 1
    }
    precondition((accepted == span.byteCount && stepwise.isComplete) == expected, "byte by byte")
    let step = max(1, span.byteCount / 16)
    for cut in stride(from: 0, through: span.byteCount, by: step) {
      var validator = UTF8Validator()
      let isValid =
        validator.accept(span, in: 0..<cut)
        && validator.accept(span, in: cut..<span.byteCount) && validator.isComplete
      precondition(isValid == expected, "cut at \(cut)")
    }
    precondition(canBeCompleted(Array(text[..<accepted])), "refused too late")
  }
  return 0
}

/// Whether some continuation makes the text valid, as for all accepted text.
private func canBeCompleted(_ text: [UInt8]) -> Bool {
  for first: UInt8 in [0x80, 0x90, 0xA0] {
    for more in 0...3 {
      let tail = more == 0 ? [] : [first] + [UInt8](repeating: 0x80, count: more - 1)
      // Only the last character can be incomplete.
      let end = text.suffix(3).drop { $0 & 0xC0 == 0x80 }
      if String(validating: end + tail, as: UTF8.self) != nil { return true }
    }
  }
  return false
}
