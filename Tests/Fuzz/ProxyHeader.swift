// Fuzz target: the PROXY header, read in pieces. It ends within its size limit, and its result does
// not depend on the pieces.
import Primitives
import Wire

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let whole = read(input, step: Int.max)
  precondition(read(input, step: 1) == whole, "the result differs byte by byte")
  precondition(read(input, step: 7) == whole, "the result differs in pieces")
  _ = WebOrigin.normalize(String(decoding: input, as: UTF8.self)).map {
    precondition(WebOrigin.normalize($0) == $0, "an origin with two normal forms")
  }
  return 0
}

private enum Outcome: Equatable {
  case more
  case known(ProxyHeader.Source)
  /// The fault may depend on the pieces.
  case refused
}

private func read(_ input: [UInt8], step: Int) -> Outcome {
  var header = ProxyHeader()
  return input.withRawSpan { span in
    var taken = 0
    while taken < span.byteCount {
      let wanted = header.wantedByteCount
      precondition(wanted > 0 && wanted <= ProxyHeader.byteCountMax, "a header beyond the limit")
      let count = min(wanted, step, span.byteCount - taken)
      do throws(ProxyFault) {
        if let source = try header.receive(span.extracting(taken..<taken + count)) {
          return .known(source)
        }
      } catch {
        return .refused
      }
      taken += count
    }
    return .more
  }
}
