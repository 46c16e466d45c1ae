/// The last step of an upload, on a thread that may block: the type is judged by the content,
/// inspectors look at it, and the storage takes it.
import Kernel

struct LastStep {
  let item: Attachment
  /// The file with all parts.
  let path: String
  let allowed: Set<AttachmentGroup>

  func run(
    _ storage: any AttachmentStorage, _ inspectors: [any AttachmentInspector]
  ) throws(AttachmentFiles.Failure) -> AttachmentFiles.Completion {
    // Held until the file is stored. A file that another request has moved is not ours.
    guard let file = try open() else { return .busy }
    var upload: FinishedUpload
    do throws(Errno) {
      guard try file.lock(), try file.isAt(path), try file.byteCount() == item.byteCount else {
        return .busy
      }
      let head = try file.read(ContentType.headBytes, at: 0)
      let isWhole = Int64(head.count) == item.byteCount
      guard let type = ContentType.judge(head, isWhole: isWhole, name: item.name) else {
        return .refused(
          type: "file_type", reason: "This type of file is not known, and cannot be sent.")
      }
      if let refusal = refusal(of: type) { return refusal }
      let size = try ImageSize.read(file, type: type.name)
      upload = FinishedUpload(
        path: path, name: item.name, type: type.name, group: type.group,
        byteCount: item.byteCount, width: size?.width, height: size?.height)
    } catch {
      throw AttachmentFiles.Failure(error)
    }
    defer { removeOthers(upload) }
    do throws(AttachmentFault) {
      for inspector in inspectors { try inspector.inspect(&upload) }
    } catch {
      switch error {
      case .refused(let type, let reason): return .refused(type: type, reason: reason)
      case .unavailable(let reason): throw .storage(reason: reason, isFull: false)
      }
    }
    return .stored(try store(upload, storage))
  }

  /// Nil: another request has moved it.
  private func open() throws(AttachmentFiles.Failure) -> BlockingFile? {
    do throws(Errno) {
      return try BlockingFile(path, .write)
    } catch .noEntry {
      return nil
    } catch {
      throw AttachmentFiles.Failure(error)
    }
  }

  private func refusal(of type: ContentType) -> AttachmentFiles.Completion? {
    if !allowed.contains(type.group) {
      return .refused(
        type: "file_type", reason: "Files of the type \(type.name) are not allowed here.")
    }
    if !type.fits(item.name) {
      return .refused(
        type: "file_type",
        reason: "The content is of the type \(type.name), which the name does not say.")
    }
    return nil
  }

  private func store(
    _ upload: FinishedUpload, _ storage: any AttachmentStorage
  ) throws(AttachmentFiles.Failure) -> StoredContent {
    do throws(StorageFault) {
      if let thumbnail = upload.thumbnailPath {
        let key = AttachmentKey(
          workspace: item.workspace, id: item.id, isThumbnail: true)
        try storage.store(
          file: thumbnail, as: key, type: AttachmentLimits.thumbnailType)
      }
      try storage.store(file: upload.path, as: item.key, type: upload.type)
      // Still there if another file was stored, or another system has it. What stays here the sweep
      // removes.
      _ = try? BlockingFile.remove(path)
    } catch {
      throw AttachmentFiles.Failure(error)
    }
    return StoredContent(
      type: upload.type, byteCount: upload.byteCount, width: upload.width.map { Int64($0) },
      height: upload.height.map { Int64($0) }, hasThumbnail: upload.thumbnailPath != nil)
  }

  /// Removes the files that an inspector has written beside the upload, as far as the storage has
  /// not moved them.
  private func removeOthers(_ upload: FinishedUpload) {
    for other in [upload.path, upload.thumbnailPath].compactMap({ $0 }) where other != path {
      // The sweep removes a file that stays.
      _ = try? BlockingFile.remove(other)
    }
  }
}
