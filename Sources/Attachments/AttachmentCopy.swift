/// Copies the files of attachments from one folder to another, for a backup and for a restore.
///
/// The database says which ones: first the database is backed up, then the files that its rows name
/// are copied. A file is on the disk before a row names it and is never changed, so every file that
/// the backup of the database names is there, unless it was removed since. The other order would
/// miss files that come between. A file that is copied needlessly has no row in the restored
/// database, and the sweep removes it after a day.
public import Directory
public import Kernel
import Postgres
import Primitives

public struct AttachmentCopy: Sendable {
  public struct Counts: Sendable, Equatable {
    /// Files that the target has, and their bytes.
    public var files: Int64 = 0
    public var bytes: Int64 = 0
    /// Bytes that were written, since neither the target nor an earlier backup had them.
    public var copied: Int64 = 0
    /// Files that the source does not have.
    public var missing: Int64 = 0

    public init() {}
  }

  /// Bytes of one read and one write.
  static let pieceBytes: Int64 = 1 << 20

  private let source: String
  private let target: String
  private let pool: String?
  private let earlier: [String]
  private let bytesPerSecond: Int64?
  /// The folder whose owner the files get; nil: this process.
  private let ownerFolder: String?
  private let start = SystemClock.now()
  public private(set) var counts = Counts()

  /// - Parameters:
  ///   - source: has the files as `WORKSPACE/ID`, as `DiskStorage` stores them.
  ///   - pool: files are written there first, and get their place in `target` by a hard link; so a
  ///     copy that was interrupted goes on with them.
  ///   - earlier: folders whose files are linked instead of copied.
  ///   - ownerFolder: needs root.
  public init(
    from source: String, to target: String, pool: String? = nil, earlier: [String] = [],
    bytesPerSecond: Int64? = nil, ownerFolder: String? = nil
  ) {
    self.source = source
    self.target = target
    self.pool = pool
    self.earlier = earlier
    self.bytesPerSecond = bytesPerSecond
    self.ownerFolder = ownerFolder
  }

  /// The bytes that `copy` would write.
  public func bytesToCopy(_ key: AttachmentKey) throws(Errno) -> Int64 {
    guard let bytes = try BlockingFile.byteCount(of: "\(source)/\(key.text)") else { return 0 }
    return try folder(with: key, bytes) == nil ? bytes : 0
  }

  /// Copies one file durably. The target never has half a file.
  ///
  /// - Parameter meanwhile: called after each piece.
  public mutating func copy(_ key: AttachmentKey, meanwhile: (Counts) -> Void) throws(Errno) {
    guard let bytes = try BlockingFile.byteCount(of: "\(source)/\(key.text)") else {
      counts.missing += 1
      return
    }
    let place = "\(target)/\(key.text)"
    try makeFolder(BlockingFile.parent(of: place))
    let found = try folder(with: key, bytes)
    if found != target {
      var isLinked = false
      if let found { isLinked = try link("\(found)/\(key.text)", to: place) }
      if !isLinked, try !write(key, place, meanwhile) {
        counts.missing += 1
        return
      }
    }
    counts.files += 1
    counts.bytes += bytes
    meanwhile(counts)
  }

  /// The first folder that has the file: a file with the same id and length has the same bytes.
  private func folder(with key: AttachmentKey, _ bytes: Int64) throws(Errno) -> String? {
    for folder in [target] + (pool.map { [$0] } ?? []) + earlier
    where try BlockingFile.byteCount(of: "\(folder)/\(key.text)") == bytes { return folder }
    return nil
  }

  /// Whether the file has its new name. Some file systems have no hard links, and others a limit
  /// of them; then the file is copied.
  private func link(_ path: String, to place: String) throws(Errno) -> Bool {
    try BlockingFile.remove(place)
    do throws(Errno) {
      try BlockingFile.link(path, to: place)
      return true
    } catch {
      return false
    }
  }

  /// Writes the file to the pool, or else to its place; false: it was removed meanwhile.
  private mutating func write(
    _ key: AttachmentKey, _ place: String, _ meanwhile: (Counts) -> Void
  ) throws(Errno) -> Bool {
    let first = pool.map { "\($0)/\(key.text)" } ?? place
    let folder = BlockingFile.parent(of: first)
    try makeFolder(folder)
    // Hidden names are seen by no listing.
    let half = "\(folder)/.\(key.text.split(separator: "/")[1]).half"
    do throws(Errno) {
      let input = try BlockingFile("\(source)/\(key.text)", .read)
      let output = try BlockingFile(half, .create)
      try output.setByteCount(0)
      try pour(input, into: output, meanwhile)
      try output.synchronize()
    } catch .noEntry {
      return false
    }
    if let ownerFolder { try BlockingFile.setOwner(of: half, as: ownerFolder) }
    try BlockingFile.rename(half, to: first)
    try BlockingFile.synchronizeFolder(folder)
    if first != place, try !link(first, to: place) { try BlockingFile.rename(first, to: place) }
    return true
  }

  private mutating func pour(
    _ input: borrowing BlockingFile, into output: borrowing BlockingFile,
    _ meanwhile: (Counts) -> Void
  ) throws(Errno) {
    var offset: Int64 = 0
    while true {
      let piece = try input.read(Int(AttachmentCopy.pieceBytes), at: offset)
      if piece.isEmpty { return }
      try output.write(piece, at: offset)
      offset += Int64(piece.count)
      counts.copied += Int64(piece.count)
      meanwhile(counts)
      // Sleeps a second at most, since a limit is 1 MiB a second at least. A command calls this, so
      // no loop waits.
      guard let bytesPerSecond else { continue }
      let due = counts.copied * 1_000 / bytesPerSecond
      let early = due - SystemClock.now().milliseconds(since: start)
      if early > 0 { Thread.sleep(milliseconds: early) }
    }
  }

  private func makeFolder(_ path: String) throws(Errno) {
    if try BlockingFile.byteCount(of: path) != nil { return }
    let parent = BlockingFile.parent(of: path)
    if parent != path { try makeFolder(parent) }
    try BlockingFile.makeFolder(path)
    if let ownerFolder { try BlockingFile.setOwner(of: path, as: ownerFolder) }
  }

  /// Waits until all names are on the disk.
  public func finish() throws(Errno) -> Counts {
    for name in try AttachmentCopy.names(in: target) {
      try BlockingFile.synchronizeFolder("\(target)/\(name)")
    }
    return counts
  }

  private static func names(in folder: String) throws(Errno) -> [String] {
    do throws(Errno) {
      return try FolderListing.names(in: folder)
    } catch .noEntry {
      return []
    }
  }
}

// MARK: Which files

extension AttachmentCopy {
  /// Rows of one page.
  static let pageMax: Int64 = 1_000

  /// Whether the database has attachments at all, which one of an older version does not.
  public static let isThere = Statement(
    Query("SELECT to_regclass('chat_attachments') IS NOT NULL")
  ) { $0.bool(0, 0) == true }

  /// The files of the next page of rows, from the one after `last` on: attachments, and thumbnails
  /// behind theirs. Empty: there are no further ones.
  public static func page(after last: AttachmentKey?) -> Statement<[AttachmentKey]> {
    Statement(
      Query(
        """
        SELECT workspace_id, id, has_thumbnail FROM chat_attachments
        WHERE state IN ('stored', 'bound')
          AND ($2::uuid IS NULL OR (workspace_id, id) > ($2::uuid, $3::uuid))
        ORDER BY workspace_id, id LIMIT $1::bigint
        """, [.int(pageMax), .uuid(last?.workspace), .uuid(last?.id)])
    ) { rows in
      var keys: [AttachmentKey] = []
      for row in 0..<rows.count {
        guard let workspace = rows.uuid(row, 0), let id = rows.uuid(row, 1) else { continue }
        keys.append(AttachmentKey(workspace: workspace, id: id))
        if rows.bool(row, 2) == true {
          keys.append(AttachmentKey(workspace: workspace, id: id, isThumbnail: true))
        }
      }
      return keys
    }
  }
}
