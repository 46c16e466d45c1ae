import Glibc
import Kernel
import Primitives
import Testing

@Suite struct ProcessFiguresTests {
  @Test("the figures of this process grow with its use of the machine")
  func figures() throws {
    let before = try ProcessFigures.read()
    #expect(before.residentBytes > 1 << 20 && before.virtualBytes > before.residentBytes)
    #expect(before.descriptorsMax >= before.openDescriptors)
    #expect(before.startedAt < SystemClock.wallTime())
    // Other tests run in this process at the same time, so the number must not be exact.
    let pipes = (0..<100).map { _ in dup(2) }
    let after = try ProcessFigures.read()
    for pipe in pipes { close(pipe) }
    #expect(after.openDescriptors >= 100)
    #expect(after.processorTime > before.processorTime)
    #expect(after.startedAt == before.startedAt)
  }
}
