import CZlib
import Primitives

/// Deflates messages for permessage-deflate (RFC 7692 §7.2.1), raw DEFLATE without header.
///
/// Its memory is taken once, see `byteCount`. The same messages give the same bytes, always.
@safe
public struct Deflater: ~Copyable {
  private let stream = ZStream()

  /// `level` is zlib's 1 (fast) to 9 (small), `memoryLevel` its 1 to 9. A window of 8 bits does not
  /// exist: zlib refuses it (tried with 1.2.13).
  public init(level: Int, windowBits: Int, memoryLevel: Int) {
    precondition((9...15).contains(windowBits), "zlib deflates with windows of 9 to 15 bits")
    precondition((1...9).contains(level) && (1...9).contains(memoryLevel), "zlib has 1 to 9")
    Self.begin(stream, level, Int32(-windowBits), memoryLevel)
  }

  /// What zlib takes for one: the window, its hash chains, and what is not written yet
  /// (zconf.h: (1 << (windowBits + 2)) + (1 << (memLevel + 9))), and 6 KiB besides.
  public static func byteCount(windowBits: Int, memoryLevel: Int) -> Int {
    1 << (windowBits + 2) + 1 << (memoryLevel + 9) + 6_144
  }

  deinit {
    // SAFETY: initialised by `init`, ended only here.
    _ = unsafe deflateEnd(stream.pointer)
  }

  /// Appends the payload of one message: flushed to a whole byte, without the four bytes 00 00 FF
  /// FF that the receiver adds again. With `keepsContext` it may refer to the messages before it.
  public mutating func deflate(
    _ message: RawSpan, keepsContext: Bool, to output: inout [UInt8]
  ) {
    // §7.2.3.6. zlib would not flush twice at one place.
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

  /// A whole file in the format of RFC 1952, without name and time, so that it is always the same.
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
    // SAFETY: the stream was initialised with zeros, which is what zlib asks for; it stays at its
    // address until `deinit`.
    let status = unsafe deflateInit2_(
      stream.pointer, Int32(level), Z_DEFLATED, windowBits, Int32(memoryLevel),
      Z_DEFAULT_STRATEGY, ZVersion.text, ZVersion.structureBytes)
    precondition(status == Z_OK, "zlib has no memory, or is another version than its header")
  }

  private func run(_ input: RawSpan, _ flush: Int32, to output: inout [UInt8]) {
    precondition(input.byteCount < 1 << 31, "zlib counts in 32 bits")
    let z = unsafe stream.pointer
    unsafe input.withUnsafeBytes { source in
      // SAFETY: the input lives for the closure; zlib never writes to it, its pointer is only
      // declared so. An empty input has no address.
      unsafe z.pointee.next_in = source.baseAddress.map {
        unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: UInt8.self)
      }
      unsafe z.pointee.avail_in = UInt32(source.count)
      var room = 0
      repeat {
        // zlib.h: flushing is over when room is left; the marker needs 6 bytes or is repeated.
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
