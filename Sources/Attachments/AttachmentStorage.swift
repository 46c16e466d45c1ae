public import Primitives

/// Where the bytes of finished attachments are: a folder (`DiskStorage`), or another system.
///
/// All functions block, and run on threads of `AttachmentFiles`. They may be called by several
/// threads at once.
public protocol AttachmentStorage: Sendable {
  /// Stores a file durably: when it returns, neither a crash nor a power failure loses the bytes.
  /// The file is the storage's afterwards: it may have been moved. Replaces what is there.
  func store(file path: String, as key: AttachmentKey, type: String) throws(StorageFault)

  /// The bytes of a range, which lies within the file; at most `AttachmentLimits.pieceBytes`.
  func read(_ key: AttachmentKey, _ range: Range<Int64>) throws(StorageFault) -> [UInt8]

  /// The number of bytes.
  func byteCount(of key: AttachmentKey) throws(StorageFault) -> Int64

  /// Removes the bytes; without an effect if there are none.
  func remove(_ key: AttachmentKey) throws(StorageFault)

  /// Keys that were stored before `time` (seconds since 1970), in order, from the one after `last`
  /// on, at most `limit`. For the sweep, which removes those without a row.
  func keys(
    after last: AttachmentKey?, storedBefore time: Int64, limit: Int
  ) throws(StorageFault) -> [AttachmentKey]
}

/// The name under which an attachment is stored. It consists of ids only, never of a text that a
/// person has chosen.
public struct AttachmentKey: Sendable, Hashable {
  public var workspace: Identifier
  public var id: Identifier
  public var isThumbnail: Bool

  public init(workspace: Identifier, id: Identifier, isThumbnail: Bool = false) {
    self.workspace = workspace
    self.id = id
    self.isThumbnail = isThumbnail
  }

  /// `workspace/id`, or `workspace/id.thumbnail`.
  public var text: String { "\(workspace)/\(id)" + (isThumbnail ? AttachmentKey.suffix : "") }

  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let workspace = Identifier(String(parts[0])) else { return nil }
    let isThumbnail = parts[1].hasSuffix(AttachmentKey.suffix)
    let name = isThumbnail ? parts[1].dropLast(AttachmentKey.suffix.count) : parts[1]
    guard let id = Identifier(String(name)) else { return nil }
    self.init(workspace: workspace, id: id, isThumbnail: isThumbnail)
  }

  private static let suffix = ".thumbnail"
}

/// Why a storage could not do its work.
public struct StorageFault: Error, Sendable, Equatable {
  /// For the log: without secrets.
  public var reason: String
  public var isFull: Bool
  /// There are no such bytes.
  public var isMissing: Bool

  public init(_ reason: String, isFull: Bool = false, isMissing: Bool = false) {
    self.reason = reason
    self.isFull = isFull
    self.isMissing = isMissing
  }
}

public enum AttachmentLimits {
  /// Bytes of one part of an upload, and of one piece of a download.
  public static let pieceBytes = 65_536
  /// Attachments of one message.
  public static let perMessage = 10
  /// Attachments of one request for links.
  public static let links = 50
  /// The form of every thumbnail.
  public static let thumbnailType = "image/webp"
  /// How long a link is valid.
  public static let linkSeconds: Int64 = 600
  /// How long a link is valid that a channel's platform has got: people open it in their app.
  public static let channelLinkSeconds: Int64 = 30 * 86_400
  /// Uploads of one caller that are in no message yet.
  public static let unsentPerCaller: Int64 = 20
  /// Uploads of one workspace that are not complete.
  public static let runningPerWorkspace: Int64 = 2_000
  public static let nameBytes = 160
  /// Bytes of the description of an image. Ten of them and their names fit into a payload.
  public static let altBytes = 400
  /// Hours after which an upload that is in no message is removed.
  public static let unsentHours: Int64 = 24
  /// Threads that complete uploads, and what waits for them.
  public static let finishers = 8
  public static let finishesWaiting = 1_024
  /// Threads that write parts, and what waits for them: 64 KiB each.
  public static let writers = 4
  public static let writesWaiting = 1_024
  /// Threads that read pieces of downloads.
  public static let readers = 4
  public static let readsWaiting = 4_096
}
