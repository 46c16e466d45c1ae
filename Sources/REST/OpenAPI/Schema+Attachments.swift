/// Schemas of attachments.
import Attachments
import Chat
import Directory

extension Schema {
  /// Raw bytes.
  static let binary = string(format: "binary").named("Bytes")
  /// A number of bytes, in a path.
  static let offset = string(1...9, pattern: "^[0-9]+$")

  static let newAttachment = input(
    [
      "id": id, "name": string(1...APILimits.attachmentNameBytes),
      "bytes": int(1...Int64(SettingLimits.attachmentBytes)),
    ],
    optional: [
      "type": string(0...APILimits.attachmentNameBytes),
      "alt": string(0...AttachmentLimits.altBytes),
    ]
  ).named("NewAttachment")

  static let attachment = object(
    [
      "id": id, "name": text, "bytes": count, "received": count, "part_bytes": count,
      "state": word(["uploading", "stored", "bound"]),
    ], sometimes: ["type": text, "width": count, "height": count, "alt": text]
  ).named("Attachment")

  static let fileMessage = input(
    ["attachments": array(of: id, 1...AttachmentLimits.perMessage)],
    optional: ["id": id, "body": string(0...Limits.bodyBytes)]
  ).named("FileMessage")

  static let attachmentIDs = input(["ids": array(of: id, 1...AttachmentLimits.links)])
    .named("AttachmentIDs")

  static let attachmentLinks = object([
    "links": array(
      of: object(
        ["id": id, "url": text, "expires_at": time], sometimes: ["thumbnail_url": text]))
  ]).named("AttachmentLinks")

  static let attachmentUsage = object([
    "bytes": count, "total_bytes": count, "running": count,
  ]).named("AttachmentUsage")
}

extension [QueryParameter] {
  static let attachmentLink: [QueryParameter] = [
    QueryParameter(name: "workspace", schema: .id, isRequired: true),
    QueryParameter(name: "expires", schema: .count, isRequired: true),
    QueryParameter(name: "signature", schema: .string(1...64), isRequired: true),
    QueryParameter(name: "thumbnail", schema: .word(["1"])),
  ]
}
