import Kernel
import Primitives

/// The files of attachments: parts of uploads, the last step of an upload, pieces of downloads. The
/// work runs on threads of its own, and what waits for them is bounded.
public final class AttachmentFiles: Sendable {
  private let uploads: UploadFolder
  private let storage: any AttachmentStorage
  private let inspectors: [any AttachmentInspector]
  private let writers = WorkerThreads(
    name: "attachments", threads: AttachmentLimits.writers,
    waitingMax: AttachmentLimits.writesWaiting)
  /// A scan, a cleaning and an upload to a bucket take seconds, in which parts must not wait.
  private let finishers = WorkerThreads(
    name: "last steps", threads: AttachmentLimits.finishers,
    waitingMax: AttachmentLimits.finishesWaiting)
  private let readers = WorkerThreads(
    name: "downloads", threads: AttachmentLimits.readers, waitingMax: AttachmentLimits.readsWaiting)
  public let counts: AttachmentCounts

  /// - Parameters:
  ///   - folder: for uploads that are not complete; on the same file system as a `DiskStorage`.
  public init(
    folder: String, storage: any AttachmentStorage, inspectors: [any AttachmentInspector] = [],
    counts: AttachmentCounts = AttachmentCounts()
  ) {
    self.counts = counts
    uploads = UploadFolder(folder: folder)
    self.storage = storage
    self.inspectors = inspectors
  }

  /// On disk: `uploads` and `stored` below the folder.
  public convenience init(folder: String, inspectors: [any AttachmentInspector] = []) {
    self.init(
      folder: folder + "/uploads", storage: DiskStorage(folder: folder + "/stored"),
      inspectors: inspectors)
  }

  /// Work that waits or runs.
  public var waiting: Int { writers.count + finishers.count + readers.count }

  public enum Failure: Error, Sendable, Equatable {
    /// Too much work waits.
    case busy
    /// The storage or the disk has failed; the reason is for the log.
    case storage(reason: String, isFull: Bool)

    init(_ error: Errno) {
      self = .storage(reason: "the disk of uploads: \(error)", isFull: error == .noSpace)
    }

    init(_ fault: StorageFault) { self = .storage(reason: fault.reason, isFull: fault.isFull) }
  }

  private func run<Answer: Sendable>(
    on threads: WorkerThreads, _ body: @escaping @Sendable () throws(Failure) -> Answer
  ) async throws(Failure) -> Answer {
    let result = await threads.run { () -> Result<Answer, Failure> in
      do throws(Failure) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .busy }
    return try result.get()
  }

  // MARK: Parts

  public enum Part: Sendable, Equatable {
    case received(Int64)
    case elsewhere(received: Int64)
    case busy
  }

  /// The bytes of an upload that were received.
  public func received(_ key: AttachmentKey) async throws(Failure) -> Int64 {
    let uploads = uploads
    return try await run(on: writers) { () throws(Failure) in
      do throws(Errno) { return try uploads.received(key) } catch { throw Failure(error) }
    }
  }

  public func write(
    _ bytes: [UInt8], at offset: Int64, of item: Attachment
  ) async throws(Failure) -> Part {
    let uploads = uploads
    let counts = counts
    return try await run(on: writers) { () throws(Failure) in
      do throws(Errno) {
        let written = try uploads.write(bytes, at: offset, of: item.key, byteCount: item.byteCount)
        switch written {
        case .received(let count):
          counts.received(bytes.count)
          return .received(count)
        case .elsewhere(let count): return .elsewhere(received: count)
        case .busy: return .busy
        }
      } catch {
        throw Failure(error)
      }
    }
  }

  // MARK: The last step

  public enum Completion: Sendable, Equatable {
    case stored(StoredContent)
    case refused(type: String, reason: String)
    /// Another request completes it.
    case busy
  }

  /// Judges the content of a complete upload, and stores it durably.
  public func complete(
    _ item: Attachment, allowed: Set<AttachmentGroup>
  ) async throws(Failure) -> Completion {
    let (uploads, storage, inspectors) = (uploads, storage, inspectors)
    let result = try await run(on: finishers) { () throws(Failure) in
      let step = LastStep(item: item, path: uploads.path(item.key), allowed: allowed)
      return try step.run(storage, inspectors)
    }
    if case .refused = result { counts.refused() }
    return result
  }

  /// All of it for a file that is in memory. Blocks: for threads that may.
  public func store(
    _ bytes: [UInt8], as item: Attachment, allowed: Set<AttachmentGroup>
  ) throws(Failure) -> Completion {
    do throws(Errno) {
      // What was written before a crash counts.
      var offset = Int(try uploads.received(item.key))
      while offset < bytes.count {
        let end = min(offset + AttachmentLimits.pieceBytes, bytes.count)
        guard
          case .received(let received) = try uploads.write(
            Array(bytes[offset..<end]), at: Int64(offset), of: item.key, byteCount: item.byteCount)
        else { return .busy }
        offset = Int(received)
      }
    } catch {
      throw Failure(error)
    }
    counts.received(bytes.count)
    let step = LastStep(item: item, path: uploads.path(item.key), allowed: allowed)
    let result = try step.run(storage, inspectors)
    if case .refused = result { counts.refused() }
    return result
  }

  // MARK: Files that the gateway fetches

  /// Begins a file that this gateway fetches. Blocks. Nil: another request has the file.
  public func fetch(_ key: AttachmentKey) throws(Failure) -> AttachmentFetch? {
    do throws(Errno) { return try uploads.fetch(key) } catch { throw Failure(error) }
  }

  /// As `complete`, for callers that are no tasks. `done` runs on a thread of its own.
  public func complete(
    _ item: Attachment, allowed: Set<AttachmentGroup>,
    done: @escaping @Sendable (Result<Completion, Failure>) -> Void
  ) {
    let (uploads, storage, inspectors, counts) = (uploads, storage, inspectors, counts)
    counts.received(Int(item.byteCount))
    let isTaken = finishers.start {
      let step = LastStep(item: item, path: uploads.path(item.key), allowed: allowed)
      do throws(Failure) {
        let result = try step.run(storage, inspectors)
        if case .refused = result { counts.refused() }
        done(.success(result))
      } catch {
        done(.failure(error))
      }
    }
    if !isTaken { done(.failure(.busy)) }
  }

  /// Removes what was fetched. Blocks. The sweep removes what stays here.
  public func drop(_ key: AttachmentKey) { try? uploads.remove(key) }

  /// Removes what was received of an upload.
  public func discard(_ key: AttachmentKey) async throws(Failure) {
    let uploads = uploads
    try await run(on: writers) { () throws(Failure) in
      do throws(Errno) { try uploads.remove(key) } catch { throw Failure(error) }
    }
  }

  // MARK: Reading and removing

  public func read(
    _ key: AttachmentKey, _ range: Range<Int64>
  ) async throws(Failure) -> [UInt8] {
    let storage = storage
    let bytes = try await run(on: readers) { () throws(Failure) in
      do throws(StorageFault) { return try storage.read(key, range) } catch { throw Failure(error) }
    }
    counts.sent(bytes.count)
    return bytes
  }

  public func byteCount(of key: AttachmentKey) async throws(Failure) -> Int64 {
    let storage = storage
    return try await run(on: readers) { () throws(Failure) in
      do throws(StorageFault) { return try storage.byteCount(of: key) } catch {
        throw Failure(error)
      }
    }
  }

  /// Removes all bytes of attachments: those received and those stored.
  public func remove(_ keys: [AttachmentKey]) async throws(Failure) {
    let (uploads, storage) = (uploads, storage)
    try await run(on: writers) { () throws(Failure) in
      for key in keys {
        do throws(Errno) { try uploads.remove(key) } catch { throw Failure(error) }
        let thumbnail = AttachmentKey(workspace: key.workspace, id: key.id, isThumbnail: true)
        do throws(StorageFault) {
          try storage.remove(key)
          try storage.remove(thumbnail)
        } catch {
          throw Failure(error)
        }
      }
    }
  }

  /// Removes single files of the storage.
  public func removeStored(_ keys: [AttachmentKey]) async throws(Failure) {
    let storage = storage
    try await run(on: writers) { () throws(Failure) in
      do throws(StorageFault) {
        for key in keys { try storage.remove(key) }
      } catch {
        throw Failure(error)
      }
    }
  }

  /// See `AttachmentStorage.keys`.
  public func keys(
    after last: AttachmentKey?, storedBefore time: Int64, limit: Int
  ) async throws(Failure) -> [AttachmentKey] {
    let storage = storage
    return try await run(on: writers) { () throws(Failure) in
      do throws(StorageFault) {
        return try storage.keys(after: last, storedBefore: time, limit: limit)
      } catch {
        throw Failure(error)
      }
    }
  }

  /// Uploads whose file was not changed since `time`.
  public func uploads(changedBefore time: Int64) async throws(Failure) -> [AttachmentKey] {
    let uploads = uploads
    return try await run(on: writers) { () throws(Failure) in
      do throws(Errno) { return try uploads.keys(changedBefore: time) } catch {
        throw Failure(error)
      }
    }
  }
}
