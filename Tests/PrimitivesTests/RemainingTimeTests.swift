import Primitives
import Testing

@Suite struct RemainingTimeTests {
  @Test("the rest is rounded up, so that it never is 0 while something is left")
  func rounding() {
    #expect(RemainingTime.seconds(done: 999_999, total: 1_000_000, milliseconds: 60_000) == 1)
    #expect(RemainingTime.seconds(done: 500, total: 1_500, milliseconds: 1_000) == 2)
    #expect(RemainingTime.seconds(done: 500, total: 1_501, milliseconds: 1_000) == 3)
  }

  @Test("what is not known is not said: at the begin, at the end, and beyond an estimate")
  func unknown() {
    #expect(RemainingTime.seconds(done: 10, total: 20, milliseconds: 999) == nil)
    #expect(RemainingTime.seconds(done: 0, total: 20, milliseconds: 9_000) == nil)
    #expect(RemainingTime.seconds(done: 20, total: 20, milliseconds: 9_000) == nil)
    #expect(RemainingTime.seconds(done: 21, total: 20, milliseconds: 9_000) == nil)
    #expect(RemainingTime.seconds(done: 1, total: .max, milliseconds: 9_000) == nil)
  }
}
