// Fuzz target: the ClientHello before TLS. However much of it has come, a verdict stays what it is
// once there is one, and nothing that is too long is waited for.
import OpenSSL
import Primitives

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  var input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  check(input)
  // The same as a record that says how long it is.
  input = [22, 3, 1, UInt8(count >> 8), UInt8(count & 255)] + input
  check(input)
  return 0
}

private func check(_ input: [UInt8]) {
  var verdict = TLSHello.incomplete
  input.withRawSpan { span in
    for count in 0...min(span.byteCount, TLSHello.byteCountMax) {
      let next = TLSHello(span.extracting(0..<count))
      precondition(verdict == .incomplete || verdict == next, "a verdict that is taken back")
      verdict = next
    }
  }
  precondition(
    verdict != .incomplete || input.count < TLSHello.byteCountMax, "it waits without an end")
}
