import Primitives
import Synchronization

/// A few threads for work that would block a loop, with a bounded queue.
///
/// Not the concurrency runtime's threads: those are libdispatch's, which opens files in /proc when
/// work waits for a thread, and ends the process if that fails, for example without free
/// descriptors.
///
/// A thread is started when all others are busy, and stays until this object is released; queued
/// work is completed first.
public final class WorkerThreads: Sendable {
  private let line: WorkLine

  /// - Parameters:
  ///   - name: name of each thread, see `Thread.spawn`.
  ///   - threads: the maximum number of threads.
  ///   - waitingMax: the maximum amount of queued work.
  public init(name: String, threads: Int, waitingMax: Int) {
    line = WorkLine(name: name, threadsMax: threads, workMax: threads + waitingMax)
  }

  deinit { line.close() }

  /// The amount of queued and running work.
  public var count: Int { line.count }

  /// Starts work that hands over its result by itself; false when the queue is full, or when no
  /// thread can be created.
  public func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let line = line
    return line.take {
      body()
      line.leave()
    }
  }

  /// Returns nil when the queue is full, or when no thread can be created.
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

/// The queue that the threads share with its users. The threads own it, not the other way round.
private final class WorkLine: Sendable {
  private struct Work {
    var waiting: [@Sendable () -> Void] = []
    /// Queued and running work.
    var count = 0
    var threads = 0
    var isClosed = false
  }

  private let name: String
  private let threadsMax: Int
  private let workMax: Int
  private let work = Mutex(Work())
  private let wakeup = Semaphore()

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
    if isTaken { wakeup.signal() }
    return isTaken
  }

  /// The work is done; called by the work before its result is returned.
  func leave() { work.withLock { $0.count -= 1 } }

  func close() {
    let threads = work.withLock { work in
      work.isClosed = true
      return work.threads
    }
    for _ in 0..<threads { wakeup.signal() }
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

  /// Waits for work; nil when the queue is closed and empty.
  private func next() -> (@Sendable () -> Void)? {
    while true {
      wakeup.wait()
      let (body, isClosed) = work.withLock { work in
        (work.waiting.isEmpty ? nil : work.waiting.removeFirst(), work.isClosed)
      }
      if let body { return body }
      if isClosed { return nil }
    }
  }
}
