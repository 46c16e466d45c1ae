// Fuzz target: the record layer of TLS 1.3. The input is a script of records: most are sealed with
// the right keys and hold what the fuzzer likes, of any type and with any padding, so that it comes
// behind the encryption; some are raw. They arrive in pieces of any size, and what is heard must be
// what was sent.
import Primitives

@testable import OpenSSL

private let secret = [UInt8](repeating: 7, count: 32)

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  var script = unsafe Array(UnsafeBufferPointer(start: start, count: count))[...]
  let aead = TLSAEAD()
  let receiver = TLSRecords(
    suite: .aes128, readSecret: secret, writeSecret: secret, written: 0, recordsPerKey: 5)
  var traffic = TLSTraffic(.aes128, secret: secret)
  var expected: [UInt8] = []
  var stream: [UInt8] = []
  let piece = Int(script.popFirst() ?? 0) + 1
  while let kind = script.popFirst(), let size = script.popFirst() {
    let content = Array(script.prefix(Int(size)))
    script = script.dropFirst(Int(size))
    if kind == 255 {
      stream += content
      continue
    }
    // A type, its content, and as much padding as the kind says.
    let type = kind & 31
    var inner = content + [type]
    inner += [UInt8](repeating: 0, count: Int(kind >> 5) * 40)
    append(inner, &traffic, aead, to: &stream)
    // The type is the last byte that is not zero, whoever put it there.
    while inner.last == 0 { inner.removeLast() }
    let last = inner.popLast()
    if last == 23 { expected += inner }
    if last == 22, inner.count == 5, inner[0] == 24 { traffic.update(.aes128) }
  }
  let heard = receive(stream, piece, receiver, aead)
  precondition(expected.starts(with: heard), "something was heard that nobody said")
  return 0
}

private func append(
  _ inner: [UInt8], _ traffic: inout TLSTraffic, _ aead: TLSAEAD, to stream: inout [UInt8]
) {
  let body = inner.count + TLSSuite.tagBytes
  var record: [UInt8] = [23, 3, 3, UInt8(body >> 8), UInt8(body & 255)]
  record += [UInt8](repeating: 0, count: body)
  aead.use(.aes128, &traffic, seals: true)
  let nonce = traffic.nextNonce()
  // SAFETY: the record has room for its header, the content with its last byte, and the tag.
  unsafe inner.dropLast().withUnsafeBytes { content in
    unsafe record.withUnsafeMutableBufferPointer { bytes in
      unsafe aead.seal(
        .aes128, nonce: nonce, content: content, type: inner[inner.count - 1],
        record: bytes.baseAddress.unsafelyUnwrapped)
    }
  }
  stream += record
}

private func receive(
  _ stream: [UInt8], _ piece: Int, _ receiver: TLSRecords, _ aead: TLSAEAD
) -> [UInt8] {
  var buffer = [UInt8](repeating: 0, count: TLSSession.bufferBytesMin)
  var heard: [UInt8] = []
  var output: [UInt8] = []
  for start in stride(from: 0, to: stream.count, by: piece) {
    let end = min(stream.count, start + piece)
    // SAFETY: the buffer outlives the calls, and what is held and the piece fit into it.
    let fill = unsafe buffer.withUnsafeMutableBytes { unsafe receiver.prepare($0) }
    buffer.replaceSubrange(fill..<(fill + end - start), with: stream[start..<end])
    var cursor = TLSCursor(next: 0, end: fill + end - start)
    while true {
      let step = unsafe buffer.withUnsafeMutableBytes {
        unsafe receiver.open($0, &cursor, aead, output: &output)
      }
      guard case .plain(let range) = step else {
        if step == .needMoreBytes { break }
        return heard
      }
      heard += buffer[range]
    }
  }
  return heard
}
