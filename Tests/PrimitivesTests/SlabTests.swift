import Primitives
import Testing

/// Counts how often it is destroyed.
private struct Guest: ~Copyable {
  let name: Int
  let log: Log

  deinit { log.gone.append(name) }
}

private final class Log {
  var gone: [Int] = []
}

/// The macros of Testing copy what they look at, which a slab does not allow.
private func insert(_ value: Int, into slab: inout Slab<Int>) throws -> SlotID {
  let id = slab.insert(value)
  return try #require(id)
}

private func holds(_ slab: borrowing Slab<Int>, _ id: SlotID) -> Bool { slab.contains(id) }

@Suite struct SlabTests {
  @Test(
    "a value stays at its index until it is removed, and its slot is used again under a new name")
  func reuse() throws {
    var slab = Slab<Int>(limit: 10)
    let first = try insert(1, into: &slab)
    let second = try insert(2, into: &slab)
    #expect(slab.count == 2 && slab[Int(first.index)] == 1 && slab[Int(second.index)] == 2)
    let removed = slab.remove(Int(first.index))
    #expect(removed == 1)
    #expect(!holds(slab, first) && holds(slab, second))
    let third = try insert(3, into: &slab)
    #expect(third.index == first.index && third.generation != first.generation)
    #expect(!holds(slab, first) && holds(slab, third))
    let named = slab.id(at: Int(third.index))
    #expect(named == third && SlotID(word: third.word) == third)
  }

  @Test("a slab grows up to its limit and then refuses")
  func limit() throws {
    var slab = Slab<Int>(limit: 200)
    for number in 0..<200 {
      let id = slab.insert(number)
      #expect(id?.index == UInt32(number))
    }
    let refused = slab.insert(200)
    #expect(refused == nil && slab.count == 200)
    for number in 0..<200 { #expect(slab[number] == number) }
    _ = slab.remove(77)
    let again = slab.insert(201)
    #expect(again?.index == 77 && slab.endIndex == 200)
  }

  @Test(
    "an element is destroyed once: after its removal, or with the slab")
  func ownership() {
    let log = Log()
    do {
      var slab = Slab<Guest>(limit: 100)
      for name in 0..<70 { _ = slab.insert(Guest(name: name, log: log)) }
      _ = slab.remove(5)
      #expect(log.gone == [5])
      let occupied = (slab.isOccupied(5), slab.isOccupied(6), slab.isOccupied(70))
      #expect(occupied == (false, true, false))
    }
    #expect(log.gone.sorted() == Array(0..<70))
  }

  @Test("reading an empty slot or a slot outside traps")
  func misuse() async {
    await #expect(processExitsWith: .failure) {
      var slab = Slab<Int>(limit: 10)
      _ = slab.insert(1)
      _ = slab.remove(0)
      _ = slab[0]
    }
    await #expect(processExitsWith: .failure) {
      let slab = Slab<Int>(limit: 10)
      _ = slab[0]
    }
  }
}
