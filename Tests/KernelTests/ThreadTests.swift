import Kernel
import Primitives
import Synchronization
import Testing

@Suite struct ThreadTests {
  @Test("a thread runs its body, and join waits for its end")
  func join() throws {
    let sum = Mutex(0)
    try withThread(sum)
    #expect(sum.withLock { $0 } == 5_050)
  }

  private func withThread(_ sum: borrowing Mutex<Int>) throws {
    let box = Box()
    let thread = try Thread.spawn(name: "a-name-that-is-too-long-for-linux") {
      for number in 1...100 { box.value.wrappingAdd(number, ordering: .relaxed) }
    }
    thread.join()
    sum.withLock { $0 = box.value.load(ordering: .relaxed) }
  }

  @Test("an event counter wakes an epoll from another thread, and counts the signals")
  func wakeup() throws {
    let wakeup = Wakeup(counter: try EventCounter())
    let epoll = try Epoll()
    try epoll.add(rawValue: wakeup.counter.rawValue, .read, datum: 42)
    var events = Events(capacity: 4)
    try epoll.wait(into: &events, timeoutMilliseconds: 0)
    #expect(events.count == 0)
    let thread = try Thread.spawn(name: "wakeup") { for _ in 0..<3 { wakeup.counter.signal() } }
    thread.join()
    try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
    #expect(events.count == 1 && events[0].datum == 42)
    #expect(wakeup.counter.drain() == 3)
    #expect(wakeup.counter.drain() == 0)
    try epoll.modify(rawValue: wakeup.counter.rawValue, .write, datum: 43)
    try epoll.wait(into: &events, timeoutMilliseconds: 0)
    #expect(events.count == 1 && events[0].datum == 43 && events[0].isWritable)
    try epoll.remove(rawValue: wakeup.counter.rawValue)
    try epoll.wait(into: &events, timeoutMilliseconds: 0)
    #expect(events.count == 0)
  }

  @Test("worker threads do the work that fits into the queue, and refuse the rest")
  func workers() async throws {
    let gate = Semaphore()
    let done = Box()
    var workers: WorkerThreads? = WorkerThreads(name: "workers", threads: 2, waitingMax: 3)
    try await withThrowingTaskGroup { group in
      for _ in 0..<5 {
        group.addTask { [workers] in
          let answer = await workers?.run { () -> Int in
            gate.wait()
            return done.value.wrappingAdd(1, ordering: .relaxed).newValue
          }
          #expect(answer != nil)
        }
      }
      while workers?.count != 5 { try await Task.sleep(for: .milliseconds(2)) }
      let refused = await workers?.run { 0 }
      #expect(refused == .some(nil))
      #expect(workers?.start {} == false)
      workers = nil
      for _ in 0..<5 { gate.signal() }
      try await group.waitForAll()
    }
    #expect(done.value.load(ordering: .relaxed) == 5)
  }

  @Test("work is started without a wait for its end")
  func started() {
    let (gate, done) = (Semaphore(), Semaphore())
    let workers = WorkerThreads(name: "workers", threads: 1, waitingMax: 1)
    #expect(workers.start { gate.wait() })
    #expect(workers.start { done.signal() })
    #expect(!workers.start {})
    gate.signal()
    done.wait()
  }
}

private final class Box: Sendable {
  let value = Atomic(0)
}

private final class Wakeup: Sendable {
  let counter: EventCounter

  init(counter: consuming EventCounter) { self.counter = counter }
}
