import Kernel
import Primitives

/// Attachments as files of a folder: `WORKSPACE/ID`. A file is written elsewhere on the same file
/// system and renamed, so that there is never half a file.
public struct DiskStorage: AttachmentStorage {
  private let folder: String

  /// - Parameter folder: is created with the first file.
  public init(folder: String) { self.folder = folder }

  private func path(_ key: AttachmentKey) -> String { "\(folder)/\(key.text)" }

  public func store(
    file path: String, as key: AttachmentKey, type: String
  ) throws(StorageFault) {
    try storing("store") { () throws(Errno) in
      let file = try BlockingFile(path, .write)
      try file.synchronize()
      let target = self.path(key)
      let parent = BlockingFile.parent(of: target)
      try BlockingFile.makeFolder(parent)
      try BlockingFile.rename(path, to: target)
      try BlockingFile.synchronizeFolder(parent)
      try BlockingFile.synchronizeFolder(BlockingFile.parent(of: path))
    }
  }

  public func read(
    _ key: AttachmentKey, _ range: Range<Int64>
  ) throws(StorageFault) -> [UInt8] {
    try storing("read") { () throws(Errno) in
      let file = try BlockingFile(path(key), .read)
      return try file.read(range.count, at: range.lowerBound)
    }
  }

  public func byteCount(of key: AttachmentKey) throws(StorageFault) -> Int64 {
    try storing("read") { () throws(Errno) in
      guard let count = try BlockingFile.byteCount(of: path(key)) else { throw .noEntry }
      return count
    }
  }

  public func remove(_ key: AttachmentKey) throws(StorageFault) {
    try storing("remove") { () throws(Errno) in
      let path = path(key)
      guard try BlockingFile.remove(path) else { return }
      try BlockingFile.synchronizeFolder(BlockingFile.parent(of: path))
    }
  }

  public func keys(
    after last: AttachmentKey?, storedBefore time: Int64, limit: Int
  ) throws(StorageFault) -> [AttachmentKey] {
    try storing("list") { () throws(Errno) in
      var found: [AttachmentKey] = []
      for workspace in try names(in: folder) where Identifier(workspace) != nil {
        if let last, workspace < last.workspace.description { continue }
        for name in try names(in: "\(folder)/\(workspace)") {
          let text = "\(workspace)/\(name)"
          if let last, text <= last.text { continue }
          guard let key = AttachmentKey(text),
            let changed = try BlockingFile.changeTime(of: path(key)), changed < time
          else { continue }
          found.append(key)
          if found.count == limit { return found }
        }
      }
      return found
    }
  }

  private func names(in folder: String) throws(Errno) -> [String] {
    do throws(Errno) {
      return try FolderListing.names(in: folder)
    } catch .noEntry {
      return []
    }
  }

  private func storing<Answer>(
    _ operation: StaticString, _ body: () throws(Errno) -> Answer
  ) throws(StorageFault) -> Answer {
    do throws(Errno) {
      return try body()
    } catch {
      throw StorageFault(
        "the disk could not \(operation) an attachment: \(error)", isFull: error == .noSpace,
        isMissing: error == .noEntry)
    }
  }
}
