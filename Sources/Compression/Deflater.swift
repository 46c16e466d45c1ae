import CZlib
import Primitives

/// Deflates messages for permessage-deflate (RFC 7692 §7.2.1), raw DEFLATE without header.
///
/// Its memory is allocated once, see `byteCount`. It is deterministic: equal messages give equal
/// bytes.
@safe
public struct Deflater: ~Copyable {
  private let stream = ZStream()

  /// `level` is zlib's 1 (fast) to 9 (small), `memoryLevel` its 1 to 9. zlib refuses a
  /// window of 8 bits (tried with 1.2.13).
  public init(level: Int, windowBits: Int, memoryLevel: Int) {
    precondition((9...15).contains(windowBits), "zlib deflates with windows of 9 to 15 bits")
    precondition((1...9).contains(level) && (1...9).contains(memoryLevel), "zlib: 1 to 9")
    Self.begin(stream, level, Int32(-windowBits), memoryLevel)
  }

  /// Bytes that zlib allocates for a deflater: the window, its hash chains and the pending output
  /// (zconf.h: (1 << (windowBits + 2)) + (1 << (memLevel + 9))), and another 6 KiB.
  public static func byteCount(windowBits: Int, memoryLevel: Int) -> Int {
    1 << (windowBits + 2) + 1 << (memoryLevel + 9) + 6_144
  }

  deinit {
    // SAFETY: initialised by `init`, ended only here.
    _ = unsafe deflateEnd(stream.pointer)
  }

  /// Appends the payload of one message: flushed to a whole byte, without the four bytes 00 00 FF
  /// FF that the receiver restores. With `keepsContext` it may refer to the messages before it.
  public mutating func deflate(
    _ message: RawSpan, keepsContext: Bool, to output: inout [UInt8]
  ) {
    // §7.2.3.6: an empty message. zlib does not flush twice at one position.
    guard message.byteCount > 0 else {
      output.append(0)
      return
    }
    // SAFETY: initialised by `init`.
    if !keepsContext { _ = unsafe deflateReset(stream.pointer) }
    run(message, Z_SYNC_FLUSH, to: &output)
    precondition(
      output.suffix(4).elementsEqual([0x00, 0x00, 0xFF, 0xFF]), "a sync flush ends in its marker")
    output.removeLast(4)
  }

  /// A whole file in the format of RFC 1952, without name and time, so that the output is
  /// reproducible.
  public static func gzip(_ bytes: RawSpan, level: Int = 9) -> [UInt8] {
    let deflater = Deflater(gzipLevel: level)
    var output: [UInt8] = []
    deflater.run(bytes, Z_FINISH, to: &output)
    return output
  }

  private init(gzipLevel level: Int) {
    Self.begin(stream, level, 15 + 16, 9)
  }

  private static func begin(
    _ stream: borrowing ZStream, _ level: Int, _ windowBits: Int32, _ memoryLevel: Int
  ) {
    // SAFETY: the stream was initialised with zeros, as zlib requires; it stays at its
    // address until `deinit`.
    let status = unsafe deflateInit2_(
      stream.pointer, Int32(level), Z_DEFLATED, windowBits, Int32(memoryLevel),
      Z_DEFAULT_STRATEGY, ZVersion.text, ZVersion.structureBytes)
    precondition(status == Z_OK, "zlib is out of memory, or its version differs from its header")
  }

  private func run(_ input: RawSpan, _ flush: Int32, to output: inout [UInt8]) {
    precondition(input.byteCount < 1 << 31, "zlib counts in 32 bits")
    let z = unsafe stream.pointer
    unsafe input.withUnsafeBytes { source in
      // SAFETY: the input lives for the closure; zlib never writes to it, although
      // its pointer is declared mutable. An empty input has no address.
      unsafe z.pointee.next_in = source.baseAddress.map {
        unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: UInt8.self)
      }
      unsafe z.pointee.avail_in = UInt32(source.count)
      var room = 0
      repeat {
        // zlib.h: flushing is complete when room is left; with less than 6 bytes of room the
        // marker would be repeated.
        let bound = unsafe Int(deflateBound(z, UInt(z.pointee.avail_in))) + 16
        unsafe output.append(upTo: bound) { target in
          // SAFETY: the target lives for the closure and its length is passed along.
          unsafe z.pointee.next_out = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
          unsafe z.pointee.avail_out = UInt32(bound)
          let status = unsafe CZlib.deflate(z, flush)
          precondition(status >= Z_OK || status == Z_BUF_ERROR, "deflating cannot fail")
          room = unsafe Int(z.pointee.avail_out)
          return bound - room
        }
      } while room == 0
    }
  }
}
