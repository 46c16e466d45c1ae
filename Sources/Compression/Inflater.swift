import CZlib
import Primitives

/// Inflates the messages of permessage-deflate (RFC 7692 §7.2.2), raw DEFLATE without header.
///
/// It is bounded by the output, not by a declared length: the output grows in steps, and the first
/// byte beyond the limit is a fault. It takes about 7 KiB, and the window after the first use. It
/// is deterministic: equal input gives equal output and the same fault.
@safe
public struct Inflater: ~Copyable {
  private let stream = ZStream()

  /// A window larger than the peer's is always correct. zlib can inflate with a window of 8 bits.
  public init(windowBits: Int) {
    precondition((8...15).contains(windowBits), "RFC 7692 §7.1.2: 8 to 15")
    // SAFETY: the stream was initialised with zeros, as zlib requires; it stays at its
    // address until `deinit`.
    let status = unsafe inflateInit2_(
      stream.pointer, Int32(-windowBits), ZVersion.text, ZVersion.structureBytes)
    precondition(status == Z_OK, "zlib is out of memory, or its version differs from its header")
  }

  deinit {
    // SAFETY: initialised by `init`, ended only here.
    _ = unsafe inflateEnd(stream.pointer)
  }

  /// Appends one message to `output`, at most `limit` bytes; on a fault `output` is unchanged.
  ///
  /// `payload` is the payload of the frames, without the four bytes that the sender removed. With
  /// `keepsContext` the message may refer to earlier ones.
  public mutating func inflate(
    _ payload: RawSpan, keepsContext: Bool, limit: Int, to output: inout [UInt8]
  ) throws(InflateFault) {
    precondition(limit >= 0 && payload.byteCount < 1 << 31, "zlib counts in 32 bits")
    // SAFETY: initialised by `init`.
    if !keepsContext { _ = unsafe inflateReset(stream.pointer) }
    let start = output.count
    var end = start
    do throws(InflateFault) {
      try feed(payload, limit: start + limit, to: &output, end: &end)
      // §7.2.2: "Append 4 octets of 0x00 0x00 0xff 0xff to the tail end of the payload".
      // It completes an empty block. If it is read as anything else, the input was truncated.
      let count = end
      let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
      try tail.withRawSpan { (bytes) throws(InflateFault) in
        try feed(bytes, limit: start + limit, to: &output, end: &end)
      }
      guard end == count && isBetweenBlocks else { throw .truncated }
    } catch {
      output.removeLast(output.count - start)
      throw error
    }
    output.removeLast(output.count - end)
  }

  /// Whether the data ended at a valid position: after a block, on a whole byte (zlib.h, `inflate`:
  /// `data_type` is 128 then, plus 64 in a last block, plus the number of unused bits).
  private var isBetweenBlocks: Bool {
    // SAFETY: initialised by `init`.
    unsafe stream.pointer.pointee.data_type & 0xFF == 128
  }

  /// Inflates all of `input`. `output` has `end` bytes of data, followed by room.
  private mutating func feed(
    _ input: RawSpan, limit: Int, to output: inout [UInt8], end: inout Int
  ) throws(InflateFault) {
    var consumed = 0
    while true {
      // One byte of room beyond the limit is needed to detect that the limit is exceeded.
      if end == output.count { Self.extend(&output, by: input.byteCount, limit: limit + 1) }
      let room = output.count - end
      let step = inflateStep(input, from: consumed, to: &output, end: end)
      consumed += step.consumed
      end += step.produced
      guard end <= limit else { throw .tooLong }
      switch step.status {
      case Z_OK, Z_BUF_ERROR:
        // Room is left, so this input gives no more output.
        if consumed == input.byteCount && step.produced < room { return }
        // zlib always makes progress when it has input and room.
        precondition(step.status == Z_OK || room == step.produced, "zlib makes no progress")
      case Z_STREAM_END:
        // RFC 7692 §7.2.3.4: a message may hold blocks with BFINAL; the next block starts on
        // the next byte, with the same window.
        // SAFETY: initialised by `init`.
        _ = unsafe inflateResetKeep(stream.pointer)
        if consumed == input.byteCount { return }
      case Z_MEM_ERROR: preconditionFailure("zlib is out of memory for its window")
      default: throw fault
      }
    }
  }

  private mutating func inflateStep(
    _ input: RawSpan, from offset: Int, to output: inout [UInt8], end: Int
  ) -> (status: Int32, consumed: Int, produced: Int) {
    unsafe input.withUnsafeBytes { source in
      unsafe output.withUnsafeMutableBufferPointer { target in
        let z = unsafe stream.pointer
        // SAFETY: both buffers live for the closure and their lengths are passed along; zlib never
        // writes to its input, although its pointer is declared mutable. An empty input has no
        // address.
        unsafe z.pointee.next_in = source.baseAddress.map {
          unsafe UnsafeMutableRawPointer(mutating: $0 + offset)
            .assumingMemoryBound(to: UInt8.self)
        }
        unsafe z.pointee.avail_in = UInt32(source.count - offset)
        unsafe z.pointee.next_out = target.baseAddress.map { unsafe $0 + end }
        unsafe z.pointee.avail_out = UInt32(target.count - end)
        let status = unsafe CZlib.inflate(z, Z_SYNC_FLUSH)
        let consumed = unsafe source.count - offset - Int(z.pointee.avail_in)
        let produced = unsafe target.count - end - Int(z.pointee.avail_out)
        return (status, consumed, produced)
      }
    }
  }

  /// Doubles the room. The first room is four times the input, the usual ratio for text.
  private static func extend(_ output: inout [UInt8], by inputBytes: Int, limit: Int) {
    let wanted = max(OutputSteps.firstBytes, min(inputBytes * 4, 65_536), output.count)
    let step = min(wanted, limit - output.count)
    output.reserveCapacity(output.count + step)
    output.append(zeros: step)
  }

  /// zlib reports its reasons only as text; an unknown one is mapped to corrupt data.
  private var fault: InflateFault {
    // SAFETY: `msg` is nil or a constant text inside zlib.
    guard let text = unsafe stream.pointer.pointee.msg else { return .corrupt }
    return switch unsafe String(cString: text) {
    case "invalid block type": .blockTypeInvalid
    case "invalid distance too far back": .distanceTooFar
    default: .corrupt
    }
  }
}
