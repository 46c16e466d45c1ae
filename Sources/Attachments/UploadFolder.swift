import Kernel
import Primitives

/// The bytes of uploads that are not stored yet, each in a file. The length of the file is what
/// was received: no other place counts it. All functions block.
struct UploadFolder: Sendable {
  let folder: String

  enum Written: Sendable, Equatable {
    /// All bytes up to this number are there.
    case received(Int64)
    /// The part begins elsewhere.
    case elsewhere(received: Int64)
    /// Another request writes or completes this upload.
    case busy
  }

  func path(_ key: AttachmentKey) -> String { "\(folder)/\(key.workspace).\(key.id).part" }

  func received(_ key: AttachmentKey) throws(Errno) -> Int64 {
    try BlockingFile.byteCount(of: path(key)) ?? 0
  }

  /// Appends a part. A part that was received before changes nothing. A complete file is never
  /// written again, so it may be moved while another request has it open.
  ///
  /// - Parameter byteCount: the length of the whole file.
  func write(
    _ bytes: [UInt8], at offset: Int64, of key: AttachmentKey, byteCount: Int64
  ) throws(Errno) -> Written {
    let path = path(key)
    let file = try open(path)
    guard try file.lock() else { return .busy }
    guard try file.isAt(path) else { return .busy }
    let received = try file.byteCount()
    let end = offset + Int64(bytes.count)
    if end <= received { return .received(received) }
    guard offset == received, end <= byteCount else { return .elsewhere(received: received) }
    do throws(Errno) {
      try file.write(bytes, at: offset)
    } catch {
      // The written bytes are no whole part.
      try file.setByteCount(received)
      throw error
    }
    return .received(end)
  }

  private func open(_ path: String) throws(Errno) -> BlockingFile {
    do throws(Errno) {
      return try BlockingFile(path, .create)
    } catch .noEntry {
      try BlockingFile.makeFolder(folder)
      return try BlockingFile(path, .create)
    }
  }

  /// Also removes what an inspector has written beside it.
  func remove(_ key: AttachmentKey) throws(Errno) {
    let path = path(key)
    for suffix in ["", UploadFolder.cleanSuffix, UploadFolder.thumbnailSuffix] {
      try BlockingFile.remove(path + suffix)
    }
  }

  static let cleanSuffix = ".clean"
  static let thumbnailSuffix = ".thumbnail"

  /// Uploads whose file was not changed since `time` (seconds since 1970).
  func keys(changedBefore time: Int64) throws(Errno) -> [AttachmentKey] {
    let names: [String]
    do throws(Errno) {
      names = try FolderListing.names(in: folder)
    } catch .noEntry {
      return []
    }
    var found: Set<AttachmentKey> = []
    for name in names {
      let parts = name.split(separator: ".")
      guard (3...4).contains(parts.count), parts[2] == "part",
        let workspace = Identifier(String(parts[0])),
        let id = Identifier(String(parts[1])),
        let changed = try BlockingFile.changeTime(of: "\(folder)/\(name)"), changed < time
      else { continue }
      found.insert(AttachmentKey(workspace: workspace, id: id))
    }
    return Array(found)
  }
}
