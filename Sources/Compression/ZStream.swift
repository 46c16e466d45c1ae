import CZlib

/// What inflating and deflating share: a `z_stream` at an address that never changes, because
/// zlib's own state points back to it, and the version that the macros of zlib.h would pass along.
///
/// All memory is zlib's and is taken once: nothing here depends on a length that a peer declared.
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

/// zlib's own functions check these two, to notice a header of another version.
@safe
enum ZVersion {
  static let structureBytes = unsafe Int32(MemoryLayout<z_stream>.size)

  /// SAFETY: a constant text inside zlib.
  static var text: UnsafePointer<CChar> { unsafe zlibVersion() }
}

/// Bytes that zlib may write next, at the end of an array: the array grows by whole steps of zeros
/// and gives the unused ones back.
enum OutputSteps {
  /// The first step, for the usual small message.
  static let firstBytes = 4_096
}
