/// A complete upload before it is stored. Inspectors may replace the file, describe it further, or
/// refuse it.
public struct FinishedUpload: Sendable {
  /// The file with the bytes. An inspector that writes another one beside it changes the path; both
  /// are removed afterwards.
  public var path: String
  public let name: String
  public var type: String
  public var group: AttachmentGroup
  public var byteCount: Int64
  public var width: Int?
  public var height: Int?
  /// A file with a smaller image, of the type `AttachmentLimits.thumbnailType`.
  public var thumbnailPath: String?
}

/// Why an upload is not stored.
public enum AttachmentFault: Error, Sendable, Equatable {
  /// The file itself is the reason: it is removed. A sentence for a person, and a word for
  /// programs.
  case refused(type: String, reason: String)
  /// Nobody is to blame: the upload stays, and its last part can be sent again. The reason is for
  /// the log.
  case unavailable(reason: String)
}

/// A step between the last part of an upload and its storage: cleaning of images, a virus scanner.
public protocol AttachmentInspector: Sendable {
  /// Runs on a thread that may block.
  func inspect(_ upload: inout FinishedUpload) throws(AttachmentFault)
}
