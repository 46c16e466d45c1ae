import Glibc
import Primitives
import Synchronization
import Testing

@testable import Kernel

@Suite struct JobThreadTests {
  private func owner(_ number: UInt64) -> Identifier { Identifier(high: number, low: number) }

  /// Blocks the thread until it is opened.
  private final class Gate: Sendable {
    let isOpen = Atomic(false)
    func pass() { while !isOpen.load(ordering: .acquiring) { sched_yield() } }
    func open() { isOpen.store(true, ordering: .releasing) }
  }

  @Test("a job runs on another thread and its result is returned")
  func runs() async throws {
    let jobs = JobThread(name: "jobs")
    let sum = try await jobs.run(for: owner(1)) { (1...100).reduce(0, +) }
    #expect(sum == 5_050)
  }

  @Test("an owner with many jobs delays another one's by one job")
  func turns() async throws {
    let jobs = JobThread(name: "jobs")
    let gate = Gate()
    let order = Mutex<[UInt64]>([])
    #expect(jobs.add(for: owner(1)) { gate.pass() })
    for _ in 0..<50 {
      #expect(jobs.add(for: owner(1)) { order.withLock { $0.append(1) } })
    }
    for number in [UInt64(2), 3] {
      #expect(jobs.add(for: owner(number)) { order.withLock { $0.append(number) } })
    }
    gate.open()
    // After all jobs of the first owner.
    try await jobs.run(for: owner(1)) {}
    let seen = order.withLock { $0 }
    #expect(seen.count == 52)
    #expect(Set(seen.prefix(4)).isSuperset(of: [2, 3]), "\(seen.prefix(6))")
  }

  @Test("a job beyond the bounds is refused and counted; the others run")
  func full() async throws {
    let jobs = JobThread(name: "jobs")
    let gate = Gate()
    let done = Atomic(0)
    #expect(jobs.add(for: owner(0)) { gate.pass() })
    var taken = 0
    for number in 1...UInt64(JobThread.jobsMax) {
      // Sixteen owners, each up to its own bound.
      if jobs.add(for: owner(number % 17), { done.add(1, ordering: .relaxed) }) { taken += 1 }
    }
    #expect(taken <= JobThread.jobsMax)
    #expect(jobs.refused == 0 || taken + Int(jobs.refused) == JobThread.jobsMax)
    var own = 0
    while jobs.add(for: owner(99), { done.add(1, ordering: .relaxed) }) { own += 1 }
    #expect(own <= JobThread.jobsOfOwnerMax)
    #expect(jobs.waiting <= JobThread.jobsMax)
    await #expect(throws: JobThread.Refused.self) {
      try await jobs.run(for: self.owner(99)) {}
    }
    gate.open()
    while done.load(ordering: .relaxed) < taken + own { await Task.yield() }
    try await jobs.run(for: owner(99)) {}
    #expect(jobs.waiting == 0)
  }

  @Test("waiting jobs run even after the queue was released")
  func ends() async throws {
    let done = Atomic(0)
    let gate = Gate()
    do {
      let jobs = JobThread(name: "jobs")
      #expect(jobs.add(for: owner(1)) { gate.pass() })
      for _ in 0..<10 { #expect(jobs.add(for: owner(1)) { done.add(1, ordering: .relaxed) }) }
    }
    gate.open()
    while done.load(ordering: .relaxed) < 10 { await Task.yield() }
  }
}
