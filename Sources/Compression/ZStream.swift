import CZlib

/// The common part of `Inflater` and `Deflater`: a `z_stream` at an address that never changes,
/// because zlib's state points back to it, and the version that the macros of zlib.h would pass.
///
/// zlib owns all memory and allocates it once: no allocation depends on a length from a peer.
@safe
struct ZStream: ~Copyable {
  let pointer: UnsafeMutablePointer<z_stream>

  init() {
    // SAFETY: freed in `deinit`; zlib reads only the fields that are set here before its init.
    unsafe pointer = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe pointer.initialize(to: z_stream())
  }

  deinit {
    // SAFETY: allocated in `init`; the owner has ended zlib's state in its own `deinit`, which runs
    // before this one.
    unsafe pointer.deinitialize(count: 1)
    unsafe pointer.deallocate()
  }
}

/// zlib's functions check these two to detect a header of another version.
@safe
enum ZVersion {
  static let structureBytes = unsafe Int32(MemoryLayout<z_stream>.size)

  /// SAFETY: a constant text inside zlib.
  static var text: UnsafePointer<CChar> { unsafe zlibVersion() }
}

/// The room for zlib's next output at the end of an array: the array grows by whole steps of zeros,
/// and the unused ones are removed at the end.
enum OutputSteps {
  /// Bytes of the first step: enough for a typical small message.
  static let firstBytes = 4_096
}
