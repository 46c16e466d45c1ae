/// A file that the gateway itself fetches for a message from outside. Its length is known at its
/// end only, so its row is made afterwards; until then the sweep removes a file that a crash has
/// left. For threads that may block.
import Kernel
import Primitives
import Synchronization

public final class AttachmentFetch: Sendable {
  private struct Open: ~Copyable {
    let file: BlockingFile
    var byteCount: Int64 = 0
    var failure: Errno?

    init(_ file: consuming BlockingFile) { self.file = file }
  }

  private let open: Mutex<Open>

  /// Discards the bytes of an earlier attempt. Nil: another request has the file.
  fileprivate init?(_ path: String) throws(Errno) {
    let file = try BlockingFile(path, .create)
    guard try file.lock(), try file.isAt(path) else { return nil }
    try file.setByteCount(0)
    open = Mutex(Open(file))
  }

  /// Appends bytes; false: the disk has failed, see `failure`.
  public func append(_ bytes: [UInt8]) -> Bool {
    open.withLock { open in
      guard open.failure == nil else { return false }
      do throws(Errno) {
        try open.file.write(bytes, at: open.byteCount)
        open.byteCount += Int64(bytes.count)
        return true
      } catch {
        open.failure = error
        return false
      }
    }
  }

  /// The file is whole: another holder of it, such as the last step, may lock it.
  public func finish() {
    open.withLock { open in
      do throws(Errno) { try open.file.unlock() } catch { open.failure = open.failure ?? error }
    }
  }

  public var byteCount: Int64 { open.withLock { $0.byteCount } }

  public var failure: AttachmentFiles.Failure? {
    open.withLock { $0.failure.map { AttachmentFiles.Failure($0) } }
  }

  /// The end of a name that belongs to the content; nil: it is none of the usual media.
  public var usualEnding: String? {
    open.withLock { open in
      guard let head = try? open.file.read(ContentType.headBytes, at: 0) else { return nil }
      return ContentType.judge(head, isWhole: Int64(head.count) == open.byteCount, name: "")?
        .usualEnding
    }
  }
}

extension UploadFolder {
  /// Nil: another request has it.
  func fetch(_ key: AttachmentKey) throws(Errno) -> AttachmentFetch? {
    do throws(Errno) {
      return try AttachmentFetch(path(key))
    } catch .noEntry {
      try BlockingFile.makeFolder(folder)
      return try AttachmentFetch(path(key))
    }
  }
}
