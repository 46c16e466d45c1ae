/// Workloads with a known number of allocations, retains and releases. They show a counter that
/// does not count, or counts something else.
extension Work {
  static let known = [
    Work("known-allocation", "an array allocated and freed: one allocation, one release") {
      KnownAllocation()
    },
    Work("known-retain", "a reference replaced by another: two retains, two releases") {
      KnownRetain()
    },
  ]
}

struct KnownAllocation: Workload, ~Copyable {
  private var byteCount = 100
  private var sum = 0

  mutating func run(_ count: Int) {
    for turn in 0..<count {
      let array = [UInt8](repeating: UInt8(truncatingIfNeeded: turn), count: byteCount)
      sum &+= Int(array[turn % byteCount])
    }
  }
}

struct KnownRetain: Workload, ~Copyable {
  private final class Owned {}
  private var first = Owned()
  private var second = Owned()
  private var kept: Owned?

  mutating func run(_ count: Int) {
    for turn in 0..<count { keep(turn & 1 == 0 ? first : second) }
  }

  /// Not inlined, since the optimizer would keep only the last call.
  @inline(never)
  private mutating func keep(_ new: Owned) { kept = new }
}
