/// The name of one use of a slot: an event or a mail that carries an old generation finds nobody.
@frozen
public struct SlotID: Hashable, Sendable {
  public var index: UInt32
  /// Odd while the slot is in use.
  public var generation: UInt32

  @inlinable
  public init(index: UInt32, generation: UInt32) {
    self.index = index
    self.generation = generation
  }

  /// Both halves in one word, as epoll carries them.
  @inlinable
  public var word: UInt64 { UInt64(generation) << 32 | UInt64(index) }

  @inlinable
  public init(word: UInt64) {
    index = UInt32(truncatingIfNeeded: word)
    generation = UInt32(truncatingIfNeeded: word >> 32)
  }
}

/// A bounded table of values at stable indices, so that connections and sessions are named by small
/// numbers instead of by references. Freed slots are used again, last freed first.
///
/// Address space for all slots is taken at once, up to `reservedBytes`: the kernel gives memory for
/// pages that are touched, while growing by doubling would copy everything and leave the smaller
/// tables behind as holes, which were a third of what an idle connection cost.
///
/// Invariant: a slot is initialised exactly while its generation is odd. Every access checks it, so
/// the type is safe to use although its storage is a pointer.
@frozen
@safe
public struct Slab<Element: ~Copyable>: ~Copyable {
  @usableFromInline var elements: UnsafeMutablePointer<Element>
  @usableFromInline var generations: [UInt32] = []
  @usableFromInline var free: [UInt32] = []
  @usableFromInline var capacity: Int
  public let limit: Int
  /// Of address space, not of memory.
  @usableFromInline static var reservedBytes: Int { 67_108_864 }
  @usableFromInline var used = 0

  @inlinable public var count: Int { used }

  @inlinable
  public init(limit: Int) {
    precondition(limit > 0 && limit < Int(UInt32.max), "a slab's indices are 32 bits wide")
    self.limit = limit
    capacity = max(1, min(limit, Slab.reservedBytes / max(1, MemoryLayout<Element>.stride)))
    // SAFETY: freed in `deinit`; slots are initialised by `insert` before anybody may name them.
    unsafe elements = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
  }

  deinit {
    for index in 0..<generations.count where generations[index] & 1 == 1 {
      // SAFETY: an odd generation means an initialised slot.
      unsafe (elements + index).deinitialize(count: 1)
    }
    unsafe elements.deallocate()
  }

  /// One more than the highest index ever used: loops over all slots end here.
  @inlinable
  public var endIndex: Int { generations.count }

  @inlinable
  public func isOccupied(_ index: Int) -> Bool {
    index < generations.count && generations[index] & 1 == 1
  }

  @inlinable
  public func contains(_ id: SlotID) -> Bool {
    let index = Int(id.index)
    return index < generations.count && generations[index] == id.generation
      && id.generation & 1 == 1
  }

  @inlinable
  public func id(at index: Int) -> SlotID {
    SlotID(index: UInt32(index), generation: generations[index])
  }

  /// Takes the value into a free slot, or answers nil when all `limit` slots are in use.
  @inlinable
  public mutating func insert(_ element: consuming Element) -> SlotID? {
    let index: Int
    if let reused = free.popLast() {
      index = Int(reused)
    } else {
      guard generations.count < limit else { return nil }
      if generations.count == capacity { grow() }
      index = generations.count
      generations.append(0)
    }
    // SAFETY: the slot is below `capacity` and not initialised, since its generation is even.
    unsafe (elements + index).initialize(to: element)
    generations[index] &+= 1
    used += 1
    return SlotID(index: UInt32(index), generation: generations[index])
  }

  @inlinable
  public mutating func remove(_ index: Int) -> Element {
    precondition(isOccupied(index), "only a slot in use can be freed")
    generations[index] &+= 1
    free.append(UInt32(index))
    used -= 1
    // SAFETY: the generation was odd until two lines above, so the slot was initialised.
    return unsafe (elements + index).move()
  }

  @inlinable
  public subscript(index: Int) -> Element {
    @inline(__always) _read {
      precondition(isOccupied(index), "the slot is empty")
      // SAFETY: an odd generation means an initialised slot.
      yield unsafe elements[index]
    }
    @inline(__always) _modify {
      precondition(isOccupied(index), "the slot is empty")
      // SAFETY: an odd generation means an initialised slot.
      yield unsafe &elements[index]
    }
  }

  /// The same element by an addressor instead of a coroutine, which may copy all of a large element
  /// to read one field of it: for the hot path. A closure that uses it borrows the slab's owner.
  @inlinable
  public subscript(at index: Int) -> Element {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address(of: index)) }
    @inline(__always) unsafeMutableAddress { unsafe address(of: index) }
  }

  /// Where an element lies until the slab is changed: for a type that wraps the slab.
  @inlinable @inline(__always)
  public func address(of index: Int) -> UnsafeMutablePointer<Element> {
    precondition(isOccupied(index), "the slot is empty")
    // SAFETY: an odd generation means an initialised slot.
    return unsafe elements + index
  }

  @usableFromInline
  mutating func grow() {
    let larger = min(capacity * 2, limit)
    // SAFETY: slots in use are moved one by one; the old storage is freed without being read again.
    let moved = UnsafeMutablePointer<Element>.allocate(capacity: larger)
    for index in 0..<generations.count where generations[index] & 1 == 1 {
      unsafe (moved + index).initialize(to: (elements + index).move())
    }
    unsafe elements.deallocate()
    unsafe elements = moved
    capacity = larger
  }
}
