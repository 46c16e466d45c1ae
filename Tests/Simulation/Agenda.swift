import Primitives

/// Virtual time: the events of a run, in the order of their times, and of their entry at equal
/// times. It is the only clock of a run.
final class Agenda {
  private struct Item {
    var time: Int64
    var number: UInt64
    var body: () -> Void

    func comes(before other: Item) -> Bool {
      time == other.time ? number < other.number : time < other.time
    }
  }

  /// A binary heap with the earliest event first.
  private var heap: [Item] = []
  private var lastNumber: UInt64 = 0
  /// Microseconds since the start of the run.
  private(set) var microseconds: Int64 = 0
  private(set) var steps = 0

  /// The engines' time at the start. Zero has a special meaning in them.
  private static let origin: Int64 = 1_000_000_000

  var now: Instant { Instant(nanoseconds: Agenda.origin + microseconds * 1000) }
  var wall: WallTime { WallTime(microseconds: 1_795_000_000_000_000 + microseconds) }

  func after(microseconds delay: Int, _ body: @escaping () -> Void) {
    lastNumber += 1
    heap.append(
      Item(time: microseconds + Int64(max(0, delay)), number: lastNumber, body: body))
    siftUp(heap.count - 1)
  }

  func after(milliseconds delay: Int, _ body: @escaping () -> Void) {
    after(microseconds: delay * 1000, body)
  }

  /// Schedules an event by the engines' clock, now if the time has passed.
  func at(_ instant: Instant, _ body: @escaping () -> Void) {
    let target = instant.nanoseconds / 1000
    let current = Agenda.origin / 1000 + microseconds
    after(microseconds: target > current ? Int(target - current) : 0, body)
  }

  func removeAll() { heap = [] }

  /// Runs the next event. Returns false when there is none.
  func step() -> Bool {
    guard let first = heap.first else { return false }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      siftDown(0)
    }
    microseconds = max(microseconds, first.time)
    steps += 1
    first.body()
    return true
  }

  private func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].comes(before: heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private func siftDown(_ start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < heap.count && heap[child].comes(before: heap[least]) {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
