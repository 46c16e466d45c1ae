import Attachments
import Directory
import Kernel
import Primitives

/// One run of the upkeep of attachments, step by step; each step has a bound. Rows first say
/// "removed", then their bytes go, then the rows. Once a day it also looks for rows without a
/// conversation, and for bytes without a row. A run that is given up loses nothing.
struct AttachmentCleaning: Sendable {
  typealias Step = RetentionSweep.Step

  private enum Place: Sendable {
    case expiring, unsettled
    case forsaken(after: AttachmentKey?)
    case removed
    /// Files of the storage, and of uploads.
    case stored(after: AttachmentKey?)
    case uploads
  }

  /// Files of the storage that one step compares with the rows.
  private static let filesMax = 2_000
  /// A file without a row is removed when it is older: its row may come from a backup that is being
  /// restored.
  private static let ownerlessSeconds: Int64 = AttachmentLimits.unsentHours * 3_600
  private static let purpose = "upkeep of attachments"

  private var place = Place.expiring
  /// Whether this run also looks for rows and bytes that belong to nothing.
  let isThorough: Bool

  init(isThorough: Bool) { self.isThorough = isThorough }

  mutating func step(
    _ files: AttachmentFiles, _ statements: TimedStatements, on database: any Database
  ) async -> Step {
    do throws(Interruption) {
      switch place {
      case .expiring:
        let count = try await ask(AttachmentSweep.expire, statements, database)
        return next(.unsettled, count)
      case .unsettled:
        let count = try await ask(AttachmentSweep.settle, statements, database)
        return next(isThorough ? .forsaken(after: nil) : .removed, count)
      case .forsaken(let last):
        let page = try await ask(
          AttachmentSweep.removeForsaken(after: last), statements, database)
        place = page.map { .forsaken(after: $0.last) } ?? .removed
        return .more(rows: page?.removed ?? 0)
      case .removed:
        let keys = try await ask(AttachmentSweep.removed, statements, database)
        if !keys.isEmpty {
          try await work { () async throws(AttachmentFiles.Failure) in
            try await files.remove(keys)
          }
          try await ask(AttachmentSweep.forget(keys), statements, database)
        }
        guard keys.count < AttachmentSweep.rowsMax else { return .more(rows: Int64(keys.count)) }
        place = .stored(after: nil)
        return isThorough ? .more(rows: Int64(keys.count)) : .done
      case .stored(let last): return try await compare(after: last, files, statements, database)
      case .uploads: return try await compareUploads(files, statements, database)
      }
    } catch {
      return .failed
    }
  }

  /// A step that found fewer rows than it may take has found the last ones.
  private mutating func next(_ next: Place, _ count: Int64) -> Step {
    if count < AttachmentSweep.rowsMax { place = next }
    return .more(rows: count)
  }

  // MARK: Bytes without a row

  private var ownerlessBefore: Int64 {
    SystemClock.wallTime().microseconds / 1_000_000 - AttachmentCleaning.ownerlessSeconds
  }

  private mutating func compare(
    after last: AttachmentKey?, _ files: AttachmentFiles, _ statements: TimedStatements,
    _ database: any Database
  ) async throws(Interruption) -> Step {
    let before = ownerlessBefore
    let keys = try await work { () async throws(AttachmentFiles.Failure) in
      try await files.keys(
        after: last, storedBefore: before, limit: AttachmentCleaning.filesMax)
    }
    guard let end = keys.last else {
      place = .uploads
      return .more(rows: 0)
    }
    let known = try await known(keys, statements, database)
    let ownerless = keys.filter { !known.contains($0.withoutThumbnail) }
    if !ownerless.isEmpty {
      try await work { () async throws(AttachmentFiles.Failure) in
        try await files.removeStored(ownerless)
      }
    }
    place = .stored(after: end)
    return .more(rows: Int64(ownerless.count))
  }

  private func compareUploads(
    _ files: AttachmentFiles, _ statements: TimedStatements, _ database: any Database
  ) async throws(Interruption) -> Step {
    let before = ownerlessBefore
    let keys = try await work { () async throws(AttachmentFiles.Failure) in
      try await files.uploads(changedBefore: before)
    }
    let known = try await known(keys, statements, database)
    let ownerless = keys.filter { !known.contains($0) }
    if !ownerless.isEmpty {
      try await work { () async throws(AttachmentFiles.Failure) in
        try await files.remove(ownerless)
      }
    }
    return .done
  }

  private func known(
    _ keys: [AttachmentKey], _ statements: TimedStatements, _ database: any Database
  ) async throws(Interruption) -> Set<AttachmentKey> {
    try await ask(
      AttachmentSweep.known(keys.map(\.withoutThumbnail)), statements, database)
  }

  // MARK: Failures

  /// A later run tries again.
  private struct Interruption: Error {}

  private func ask<Answer>(
    _ statement: Statement<Answer>, _ statements: TimedStatements, _ database: any Database
  ) async throws(Interruption) -> Answer {
    let answer = await statements.answer(
      statement, for: AttachmentCleaning.purpose, on: database)
    guard let answer else { throw Interruption() }
    return answer
  }

  private func work<Answer: Sendable>(
    _ body: () async throws(AttachmentFiles.Failure) -> Answer
  ) async throws(Interruption) -> Answer {
    do throws(AttachmentFiles.Failure) {
      return try await body()
    } catch {
      throw Interruption()
    }
  }
}

extension AttachmentKey {
  fileprivate var withoutThumbnail: AttachmentKey { AttachmentKey(workspace: workspace, id: id) }
}
