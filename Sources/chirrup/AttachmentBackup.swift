/// The files of messages in `chirrup backup` and `chirrup restore`, with progress. Files in a
/// bucket are not copied.
import Attachments
import EmbeddedPostgres
import Kernel
import ObjectStorage
import Postgres
import Primitives
import Settings

struct AttachmentBackup {
  /// Milliseconds between two lines.
  private static let pauseMilliseconds: Int64 = 1_000

  private let connection: BlockingConnection
  private let output: CommandOutput

  /// - Parameter connection: to the database whose rows name the files.
  init(_ connection: BlockingConnection, _ output: CommandOutput) {
    self.connection = connection
    self.output = output
  }

  /// The bytes that `run` would write.
  func bytesToCopy(_ copy: AttachmentCopy) throws -> Int64 {
    var bytes: Int64 = 0
    try forEach { key throws(Errno) in bytes += try copy.bytesToCopy(key) }
    return bytes
  }

  /// - Parameter expected: the result of `bytesToCopy`.
  func run(
    _ copy: AttachmentCopy, expected: Int64
  ) throws -> AttachmentCopy.Counts {
    let start = SystemClock.now()
    var nextLine = start.advanced(byMilliseconds: AttachmentBackup.pauseMilliseconds)
    var copy = copy
    try forEach { key throws(Errno) in
      try copy.copy(key) { counts in
        let now = SystemClock.now()
        guard now >= nextLine else { return }
        nextLine = now.advanced(byMilliseconds: AttachmentBackup.pauseMilliseconds)
        report(counts, expected: expected, milliseconds: now.milliseconds(since: start))
      }
    }
    return try copy.finish()
  }

  private func forEach(_ body: (AttachmentKey) throws(Errno) -> Void) throws {
    guard try connection.run(AttachmentCopy.isThere) else { return }
    var last: AttachmentKey?
    while true {
      let keys = try connection.run(AttachmentCopy.page(after: last))
      guard let end = keys.last else { return }
      for key in keys {
        do throws(Errno) {
          try body(key)
        } catch {
          throw CommandFailure("the file \(key.text) of a message cannot be copied: \(error)")
        }
      }
      last = end
    }
  }

  private func report(
    _ counts: AttachmentCopy.Counts, expected: Int64, milliseconds: Int64
  ) {
    let left = RemainingTime.seconds(
      done: counts.copied, total: expected, milliseconds: milliseconds)
    output.note(
      "  copying the files of messages: \(counts.files) files, \(mebibytes(counts.copied)) of "
        + mebibytes(max(counts.copied, expected)) + (left.map { ", about \($0) s left" } ?? ""),
      [
        ("phase", .text("attachments")), ("files", .number(counts.files)),
        ("bytes", .number(counts.copied)), ("of", .number(max(counts.copied, expected))),
        ("seconds_left", left.map { .number($0) } ?? .null),
      ])
  }
}

extension AttachmentCopy.Counts {
  var text: String { "\(files) files of messages (\(mebibytes(bytes)))" }

  var members: CommandOutput.Members {
    [
      ("files", .number(files)), ("file_bytes", .number(bytes)),
      ("file_bytes_copied", .number(copied)), ("files_missing", .number(missing)),
    ]
  }
}

extension Settings {
  /// The folder of complete files, if they are on disk.
  var storedAttachments: String? {
    attachments.bucket == nil ? attachmentFolder + "/stored" : nil
  }

  /// What a backup and a restore leave to the administrator.
  var bucketAdvice: String? {
    attachments.bucket.map {
      "The files of messages are in the bucket \($0.bucket), which this command does not touch: "
        + "keep versions of its objects, or copy it now, after the database "
        + "(config/DATABASE.md, “Backup and restore”)."
    }
  }
}
