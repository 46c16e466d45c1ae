import Primitives
import Synchronization

/// A few threads for work that would hold up a loop, with a line of bounded length in front.
///
/// They are ours and not the concurrency runtime's: those are libdispatch's, which opens files
/// below /proc when work waits for a thread and ends the process when it cannot, for example
/// because peers hold every descriptor.
///
/// A thread starts when all others are busy, and stays until this object goes; the work that has
/// been taken by then is still done.
public final class WorkerThreads: Sendable {
  private let line: WorkLine

  /// - Parameters:
  ///   - name: of each thread, as in `Thread.spawn`.
  ///   - threads: how many there are at most.
  ///   - waitingMax: how much work may wait while all of them are busy.
  public init(name: String, threads: Int, waitingMax: Int) {
    line = WorkLine(name: name, threadsMax: threads, workMax: threads + waitingMax)
  }

  deinit { line.close() }

  /// Work that waits or is being done.
  public var count: Int { line.count }

  /// Nil when too much waits already, or when the system gives no thread.
  public func run<Answer: Sendable>(
    _ body: @escaping @Sendable () -> Answer
  ) async -> Answer? {
    await withCheckedContinuation { continuation in
      let line = line
      let isTaken = line.take {
        let answer = body()
        line.leave()
        continuation.resume(returning: answer)
      }
      if !isTaken { continuation.resume(returning: nil) }
    }
  }
}

/// What the threads share with who gives them work. They hold it, and not the other way round.
private final class WorkLine: Sendable {
  private struct Work {
    var waiting: [@Sendable () -> Void] = []
    /// What waits and what is being done.
    var count = 0
    var threads = 0
    var isClosed = false
  }

  private let name: String
  private let threadsMax: Int
  private let workMax: Int
  private let work = Mutex(Work())
  private let bell = Semaphore()

  init(name: String, threadsMax: Int, workMax: Int) {
    self.name = name
    self.threadsMax = threadsMax
    self.workMax = workMax
  }

  var count: Int { work.withLock(\.count) }

  func take(_ body: @escaping @Sendable () -> Void) -> Bool {
    let isTaken = work.withLock { work in
      guard work.count < workMax else { return false }
      if work.count >= work.threads, work.threads < threadsMax, start() { work.threads += 1 }
      guard work.threads > 0 else { return false }
      work.waiting.append(body)
      work.count += 1
      return true
    }
    if isTaken { bell.signal() }
    return isTaken
  }

  /// One piece of work is done; called by it, before its answer is known.
  func leave() { work.withLock { $0.count -= 1 } }

  func close() {
    let threads = work.withLock { work in
      work.isClosed = true
      return work.threads
    }
    for _ in 0..<threads { bell.signal() }
  }

  private func start() -> Bool {
    do throws(Errno) {
      _ = try Thread.spawn(name: name) { [self] in
        while let body = next() { body() }
      }
      return true
    } catch {
      return false
    }
  }

  /// Nil when there is nothing left and will be nothing.
  private func next() -> (@Sendable () -> Void)? {
    while true {
      bell.wait()
      let (body, isClosed) = work.withLock { work in
        (work.waiting.isEmpty ? nil : work.waiting.removeFirst(), work.isClosed)
      }
      if let body { return body }
      if isClosed { return nil }
    }
  }
}
