import Kernel
import Primitives
import Testing

@testable import Assist

@Suite struct AssistFeedTests {
  private let result = CompletionResult(usage: nil, textByteCount: 3, fault: nil, wasSent: true)

  @Test("pieces that wait become one, and the end comes after them")
  func order() async {
    let feed = AssistFeed()
    feed.add("a")
    feed.add("b")
    feed.end(result)
    #expect(await feed.next() == .text("ab"))
    #expect(await feed.next() == .ended(result))
  }

  @Test("a reader that waits gets each piece at once")
  func waiting() async {
    let feed = AssistFeed()
    async let first = feed.next()
    // Whether the reader waits already or not, it gets the piece.
    feed.add("a")
    #expect(await first == .text("a"))
    async let last = feed.next()
    feed.end(result)
    #expect(await last == .ended(result))
  }

  @Test("ticks give a sign of life a second after the last event, however many there were before")
  func idle() async {
    let start = SystemClock.now().advanced(byMilliseconds: 3_600_000)
    let feed = AssistFeed(now: start)
    async let event = feed.next()
    for milliseconds in stride(from: Int64(0), through: 2_000, by: 200) {
      feed.tick(now: start.advanced(byMilliseconds: milliseconds))
      await Task.yield()
    }
    // Until the reader waits, a tick has nobody to give a sign to.
    let ticks = Task {
      while !Task.isCancelled {
        feed.tick(now: start.advanced(byMilliseconds: 2_000))
        await Task.yield()
      }
    }
    #expect(await event == .idle)
    ticks.cancel()
  }

  @Test("a reader that leaves is seen by the run")
  func leaving() {
    let feed = AssistFeed()
    #expect(!feed.isCancelled)
    feed.cancel()
    #expect(feed.isCancelled)
  }
}
