/// The problems of attachments. A widget or console shows their `detail`.
import Attachments

extension Problem {
  static let attachmentsOff = Problem.forbidden(
    "attachments_off", "The workspace has turned attachments off.")

  static let noSuchAttachment = Problem(
    status: 404, type: "no_such_attachment", title: "No such attachment",
    detail: "There is no attachment with this id, or it was removed.")

  static func attachmentTooLarge(_ bytesMax: Int) -> Problem {
    Problem(
      status: 413, type: "file_too_large", title: "File too large",
      detail: "The file is larger than the \(bytesMax) bytes that are allowed here.")
  }

  static func fileTypeRefused(_ name: String) -> Problem {
    .fileRefused("file_type", "Files like “\(name)” are not allowed here.")
  }

  /// After the content was judged.
  static func fileRefused(_ type: String, _ reason: String) -> Problem {
    Problem(status: 422, type: type, title: "File refused", detail: reason)
  }

  static let attachmentConflict = Problem(
    status: 409, type: "id_conflict", title: "Id in use",
    detail: "Another attachment has this id. Send this one with a new id.")

  static let tooManyUnsent = Problem(
    status: 429, type: "too_many_uploads", title: "Too many uploads",
    detail: "You have \(AttachmentLimits.unsentPerCaller) files that are in no message yet. Send "
      + "or remove some of them.", limit: "uploads"
  ).retry(afterSeconds: 60)

  static let tooManyUploads = Problem(
    status: 429, type: "too_many_uploads", title: "Too many uploads",
    detail: "Too many uploads of this workspace are running. Try again in a few seconds.",
    limit: "workspace"
  ).retry(afterSeconds: 5)

  static func attachmentsFull(_ totalBytes: Int) -> Problem {
    Problem(
      status: 409, type: "attachments_full", title: "No room for files",
      detail: "The files of the workspace use the \(totalBytes) bytes that they may have.")
  }

  /// `received` is where the next part begins.
  static func wrongOffset(_ received: Int64) -> Problem {
    var problem = Problem(
      status: 409, type: "wrong_offset", title: "Another part is expected",
      detail: "The next part must begin at byte \(received).")
    problem.received = received
    return problem
  }

  static let uploadBusy = Problem(
    status: 409, type: "upload_busy", title: "Upload in use",
    detail: "Another request writes this upload. Ask for its state, and go on from there."
  ).retry(afterSeconds: 1)

  static let partMediaType = Problem(
    status: 415, type: "unsupported_media_type", title: "Not raw bytes",
    detail: "A part is sent with the header “Content-Type: application/octet-stream”.")

  static let attachmentSent = Problem.conflict(
    "The attachment is in a message. It is removed with its conversation.")

  static let attachmentsNotReady = Problem(
    status: 409, type: "attachments_not_ready", title: "Attachments are missing",
    detail: "Not all of these attachments are stored, in this conversation, of yours, and in no "
      + "other message. Upload them again.")

  static let attachmentsBusy = Problem(
    status: 503, type: "too_busy", title: "Too busy",
    detail: "Too many files are being written or read. Try again in a second."
  ).retry(afterSeconds: 1)

  static let storageUnavailable = Problem(
    status: 503, type: "storage_unavailable", title: "Storage unavailable",
    detail: "The storage of files does not work at the moment. Try again in a few seconds."
  ).retry(afterSeconds: 5)

  static let badLink = Problem.forbidden(
    "bad_link", "This link is not valid. Open the file in the conversation again.")

  static let linkExpired = Problem(
    status: 403, type: "link_expired", title: "Link expired",
    detail: "This link has expired. Open the file in the conversation again.")

  static let rangeOutside = Problem(
    status: 416, type: "range_not_satisfiable", title: "Range outside",
    detail: "The file has no bytes in this range.")
}
