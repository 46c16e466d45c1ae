/// Starts a thread for each loop and gathers their results.
import ArgumentParser
import Kernel
import Primitives
import Synchronization

extension Chat {
  /// The second result is every second of the load.
  func runLoops(
    _ casts: [Cast], stamp: Stamp, seed: UInt64
  ) throws -> ([LoopResult], Recorder) {
    guard var target = Target(url) else { throw ValidationError("--url") }
    try target.prepare(verifies: !insecure, authority: authority)
    let shared = Shared(loops: casts.count)
    // Before any thread starts: it blocks signals for all of them.
    var progress = try Progress(
      shared, everySeconds: progressSeconds, title: report.title ?? headline,
      plannedSeconds: seconds)
    let recorder = recorder(shared, target)
    let outcomes = Outcomes(casts.count)
    var threads: [ThreadBox] = []
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
          outcomes.fail(index, "\(error)")
          // The others must not wait for this one.
          shared.stop.store(true, ordering: .relaxed)
          shared.finished.add(1, ordering: .sequentiallyConsistent)
        }
      }
      threads.append(ThreadBox(thread))
    }
    progress.watch(recorder)
    for thread in threads { thread.join() }
    return (try outcomes.take(), recorder)
  }
}

extension Chat {
  private func recorder(_ shared: Shared, _ target: Target) -> Recorder {
    let (pid, dataDir) = (pid, dataDir)
    return Recorder(
      intervals: shared.intervals,
      gateway: { pid ?? dataDir.flatMap { Place.process(in: $0 + "/gateway.lock") } },
      postmaster: dataDir.flatMap { Place.process(in: $0 + "/postgres/data/postmaster.pid") },
      target: target)
  }
}
