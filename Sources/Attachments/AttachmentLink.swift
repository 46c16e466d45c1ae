/// A link that its signature alone authorises, until a time.
public import Directory
public import Primitives

public struct AttachmentLink: Sendable, Equatable {
  public static let path = "/api/v1/attachments"

  public var key: AttachmentKey
  /// Seconds since 1970.
  public var end: Int64

  public init(_ key: AttachmentKey, end: Int64) {
    self.key = key
    self.end = end
  }

  public init(_ key: AttachmentKey, until time: WallTime) {
    self.init(key, end: time.microseconds / 1_000_000)
  }

  private var text: [UInt8] { Array("attachment \(key.text) until \(end)".utf8) }

  /// Its path and query.
  public func url(signedBy secrets: SecretBox) -> String {
    let signature = Base64.url.encode(secrets.signature(of: text))
    return "\(AttachmentLink.path)/\(key.id)?workspace=\(key.workspace)"
      + (key.isThumbnail ? "&thumbnail=1" : "") + "&expires=\(end)&signature=\(signature)"
  }

  public func isSignature(_ signature: [UInt8], by secrets: SecretBox) -> Bool {
    secrets.isSignature(signature, of: text)
  }
}
