/// Starts a thread for each loop and gathers their results.
import Kernel
import Primitives
import Synchronization

extension Chat {
  /// The second result is the gateway at the begin and at the end of the load, if its process is
  /// known.
  func runLoops(
    _ casts: [Cast], stamp: Stamp, seed: UInt64
  ) throws -> ([LoopResult], (ProcessSample, ProcessSample)?) {
    let shared = Shared(loops: casts.count)
    var progress = try Progress(shared, everySeconds: progressSeconds, gateway: pid)
    let outcomes = Outcomes(casts.count)
    var threads: [ThreadBox] = []
    guard var target = Target(url) else { return ([], nil) }
    try target.prepare(verifies: !insecure, authority: authority)
    let plan = LoadPlan(
      target: target, stamp: stamp, bodyBytes: bodyBytes,
      ratePerSecond: rate / Double(casts.count), spacing: arrivals, seconds: seconds,
      operatorShare: operatorShare, settleSeconds: settleSeconds, drainSeconds: drainSeconds,
      backoffMaxMilliseconds: backoffSeconds * 1000, seed: seed)
    for (index, cast) in casts.enumerated() {
      let thread = try Thread.spawn(name: "load \(index)") {
        do throws(Errno) {
          let loop = try LoadLoop(plan: plan, cast: cast, shared: shared, index: index)
          outcomes.set(index, try loop.run())
        } catch {
          outcomes.fail(index, error)
          // The others must not wait for this one.
          shared.stop.store(true, ordering: .relaxed)
          shared.ready.add(1, ordering: .sequentiallyConsistent)
          shared.finished.add(1, ordering: .sequentiallyConsistent)
        }
      }
      threads.append(ThreadBox(thread))
    }
    progress.watch()
    for thread in threads { thread.join() }
    return (try outcomes.take(), progress.samples)
  }
}

/// An array cannot hold a thread, which has one owner.
final class ThreadBox {
  private var thread: Kernel.Thread?

  init(_ thread: consuming Kernel.Thread) { self.thread = consume thread }

  func join() { thread.take()?.join() }
}

/// What the loops leave behind.
private final class Outcomes: Sendable {
  private let results: Mutex<[Result<LoopResult, Errno>?]>

  init(_ count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

  func set(_ index: Int, _ result: LoopResult) {
    results.withLock { $0[index] = .success(result) }
  }

  func fail(_ index: Int, _ error: Errno) {
    results.withLock { $0[index] = .failure(error) }
  }

  func take() throws -> [LoopResult] {
    try results.withLock { all in try all.compactMap { try $0?.get() } }
  }
}
