/// A binary heap of (deadline, client).
///
/// An entry is never removed early. When the entry of a client whose deadline moved comes up, the
/// client is scheduled again, so frames that postpone a deadline cost nothing.
import Primitives

struct Deadlines {
  private var heap: [(deadline: Instant, client: Int)] = []
  /// Each client's earliest entry; `.never` without one.
  private var scheduled: [Instant]

  init(clients: Int) { scheduled = Array(repeating: .never, count: clients) }

  var next: Instant { heap.first?.deadline ?? .never }

  /// Ensures that `pop` returns `client` by `deadline`.
  mutating func schedule(_ client: Int, _ deadline: Instant) {
    guard deadline < scheduled[client] else { return }
    scheduled[client] = deadline
    heap.append((deadline, client))
    var child = heap.count - 1
    while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// A client whose entry is due; the caller schedules it again with its current deadline.
  mutating func pop(_ now: Instant) -> Int? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    if scheduled[first.client] == first.deadline { scheduled[first.client] = .never }
    return first.client
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < heap.count && heap[child].deadline < heap[smallest].deadline {
        smallest = child
      }
      if smallest == parent { return }
      heap.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
