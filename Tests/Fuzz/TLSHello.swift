// Fuzz target: the check of the ClientHello. A result is final once it is not `.incomplete`, and
// the wait for more bytes is bounded.
import OpenSSL
import Primitives

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  var input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  check(input)
  // The same in a record with a correct length.
  input = [22, 3, 1, UInt8(count >> 8), UInt8(count & 255)] + input
  check(input)
  return 0
}

private func check(_ input: [UInt8]) {
  var result = TLSHello.incomplete
  input.withRawSpan { span in
    for count in 0...min(span.byteCount, TLSHello.byteCountMax) {
      let next = TLSHello(span.extracting(0..<count))
      precondition(result == .incomplete || result == next, "a result that changes")
      result = next
    }
  }
  precondition(
    result != .incomplete || input.count < TLSHello.byteCountMax, "an unbounded wait")
}
