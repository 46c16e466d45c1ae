// Fuzz target: the record layer of TLS 1.3. The input is a script of records. Most are sealed with
// the right keys and have any content, type and padding, so that fuzzing reaches the code after
// decryption; some are raw. They arrive in pieces of any size. The received content must be what
// was sent.
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
    // The content, its type, and padding.
    let type = kind & 31
    var inner = content + [type]
    inner += [UInt8](repeating: 0, count: Int(kind >> 5) * 40)
    append(inner, &traffic, aead, to: &stream)
    // The type is the last byte that is not zero, which may be one of the content.
    while inner.last == 0 { inner.removeLast() }
    let last = inner.popLast()
    if last == 23 { expected += inner }
    if last == 22, inner.count == 5, inner[0] == 24 { traffic.update(.aes128) }
  }
  let received = receive(stream, piece, receiver, aead)
  precondition(expected.starts(with: received), "received content that was not sent")
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
  var received: [UInt8] = []
  var output: [UInt8] = []
  for start in stride(from: 0, to: stream.count, by: piece) {
    let end = min(stream.count, start + piece)
    // SAFETY: the buffer outlives the calls, and has room for the held bytes and the piece.
    let fill = unsafe buffer.withUnsafeMutableBytes { unsafe receiver.prepare($0) }
    buffer.replaceSubrange(fill..<(fill + end - start), with: stream[start..<end])
    var cursor = TLSCursor(next: 0, end: fill + end - start)
    while true {
      let step = unsafe buffer.withUnsafeMutableBytes {
        unsafe receiver.open($0, &cursor, aead, output: &output)
      }
      guard case .plain(let range) = step else {
        if step == .needMoreBytes { break }
        return received
      }
      received += buffer[range]
    }
  }
  return received
}
