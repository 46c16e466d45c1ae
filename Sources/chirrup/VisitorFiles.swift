/// The files of a visitor's conversations beside `chirrup visitor export`: a folder with each of
/// them, from the disk or from the bucket, piece by piece.
import Attachments
import Directory
import EmbeddedPostgres
import Kernel
import Postgres
import Primitives
import Settings

struct VisitorFiles {
  /// Bytes of a name in the folder, without the id: file systems allow 255.
  static let nameBytes = 200
  /// Milliseconds between two lines of the progress.
  private static let pauseMilliseconds: Int64 = 1_000

  private let folder: String
  private let storage: any AttachmentStorage

  init(_ folder: String, _ settings: Settings) {
    self.folder = folder
    storage =
      settings.attachments.bucket.map { S3Storage($0) as any AttachmentStorage }
      ?? DiskStorage(folder: settings.attachmentFolder + "/stored")
  }

  /// The name of a file: its id, and of its own name what no shell and no file system takes for
  /// something else.
  static func name(_ file: VisitorData.File) -> String {
    var name = ""
    for character in AttachmentName.clean(file.name) {
      let isPlain = character.isLetter || character.isNumber || "._-".contains(character)
      let next = name + (isPlain ? String(character) : "_")
      if next.utf8.count > nameBytes { break }
      name = next
    }
    return "\(file.id)-\(name)"
  }

  func write(
    _ visitor: Identifier, workspace: Identifier, _ connection: BlockingConnection,
    _ output: CommandOutput
  ) throws {
    do throws(Errno) {
      try BlockingFile.makeNewFolder(folder)
    } catch .exists {
      throw CommandFailure("\(folder) exists already; name another folder")
    } catch {
      throw CommandFailure("cannot make the folder \(folder): \(error)")
    }
    var (count, missing, bytes) = (0, 0, Int64(0))
    var last: Identifier?
    var nextLine = SystemClock.now().advanced(byMilliseconds: VisitorFiles.pauseMilliseconds)
    while true {
      let page = try connection.run(
        VisitorData.files(of: visitor, workspace: workspace, after: last))
      guard let end = page.last else { break }
      for file in page {
        if try write(file, workspace) { count += 1 } else { missing += 1 }
        bytes += file.byteCount
        let now = SystemClock.now()
        guard now >= nextLine else { continue }
        nextLine = now.advanced(byMilliseconds: VisitorFiles.pauseMilliseconds)
        Terminal.note("  \(count) files, \(mebibytes(bytes))")
      }
      last = end.id
    }
    Terminal.note(
      "\(count) files are in \(folder)"
        + (missing > 0 ? "; \(missing) are not in the storage any more" : ""))
  }

  /// Whether the storage has the file.
  private func write(_ file: VisitorData.File, _ workspace: Identifier) throws -> Bool {
    let key = AttachmentKey(workspace: workspace, id: file.id)
    do {
      let length = try storage.byteCount(of: key)
      let target = try BlockingFile("\(folder)/\(VisitorFiles.name(file))", .create)
      var offset: Int64 = 0
      while offset < length {
        let end = min(length, offset + Int64(AttachmentLimits.pieceBytes))
        let piece = try storage.read(key, offset..<end)
        guard piece.count == Int(end - offset) else {
          throw CommandFailure("the file \(file.id) ends at \(offset + Int64(piece.count))")
        }
        try target.write(piece, at: offset)
        offset = end
      }
      return true
    } catch let fault as StorageFault {
      if fault.isMissing { return false }
      throw CommandFailure("the file \(file.id) cannot be read: \(fault.reason)")
    } catch let errno as Errno {
      throw CommandFailure("the file \(file.id) cannot be written to \(folder): \(errno)")
    }
  }
}
