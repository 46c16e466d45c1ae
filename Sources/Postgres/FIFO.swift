/// A queue in an array; removed elements are deleted when they are half of it.
struct FIFO<Element> {
  private var elements: [Element] = []
  private var taken = 0

  var count: Int { elements.count - taken }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[taken] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    taken += 1
    if taken * 2 > elements.count {
      elements.removeFirst(taken)
      taken = 0
    }
    return first
  }

  /// Changes the oldest element. Precondition: the queue is not empty.
  mutating func updateFirst(_ change: (inout Element) -> Void) {
    change(&elements[taken])
  }
}
