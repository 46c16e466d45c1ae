/// The members of attachments.
extension MemberTexts {
  /// See `table`.
  static let attachmentTable = #"""
    VisitorExport.attachments | The files of the visitor's conversations. |
    NewAttachment.id | An id of your own, under which the upload goes on. |
    NewAttachment.name | The name of the file. | receipt.pdf
    NewAttachment.type | The media type in the client; the content decides. | application/pdf
    NewAttachment.bytes | The length of the file. | 48213
    NewAttachment.alt | What an image shows, for people who do not see it. | A worn brake pad
    Attachment.name | The name of the file, without folders and marks. | receipt.pdf
    Attachment.type | The media type, judged by the content. | application/pdf
    Attachment.bytes | The length of the file. | 48213
    Attachment.received | The bytes that were received. | 48213
    Attachment.state | Whether parts are missing, it is stored, or a message has it. | stored
    Attachment.alt | What an image shows, for people who do not see it. | A worn brake pad
    part_bytes | The most bytes of a part. | 65536
    Attachment.width | The width of an image in pixels. | 1280
    Attachment.height | The height of an image in pixels. | 960
    FileMessage.attachments | The ids of stored files, in order. |
    FileMessage.body | The caption. | The receipt of order 20418
    AttachmentIDs.ids | The ids of files. |
    AttachmentLinks.links | The links, without files that do not exist. |
    AttachmentLinks.url | The link; below the address of the gateway. | /api/v1/attachments/…
    AttachmentLinks.thumbnail_url | A smaller image; missing: there is none. | /api/v1/attachments/…
    AttachmentLinks.expires_at | The end of the link. |
    AttachmentUsage.bytes | Bytes of files, with those of running uploads. | 73400320
    AttachmentUsage.running | Uploads that are not complete. | 3
    total_bytes | The most bytes of all files of the workspace. | 5368709120
    bytes_max | The most bytes of one file. | 20971520
    Problem.received | The bytes of the upload that were received. | 65536
    Settings.attachments | Files that visitors and operators send. |
    SettingsPatch.attachments | Files that visitors and operators send. |
    Settings.types | The kinds of files that are allowed. | images
    SettingsPatch.types | The kinds of files that are allowed. | images
    WidgetConfig.attachments | Files that visitors may send. |
    WidgetConfig.types | The kinds of files that are allowed. | images
    """#
}
