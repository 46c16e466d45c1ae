/// Workloads whose cost is known beforehand: the table holds these, so that a counter that counts
/// nothing, or something else, is found out.
extension Work {
  static let known = [
    Work("known-allocation", "an array made and given up: one allocation, one release") {
      KnownAllocation()
    },
    Work("known-retain", "an object given to another owner: two retains, two releases") {
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

  /// Not to be seen through: else only the last exchange would be left.
  @inline(never)
  private mutating func keep(_ new: Owned) { kept = new }
}
