/// Names one use of a slot: an event or mail with an outdated generation matches no element.
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

  /// Index and generation in one word, the size of epoll's user data.
  @inlinable
  public var word: UInt64 { UInt64(generation) << 32 | UInt64(index) }

  @inlinable
  public init(word: UInt64) {
    index = UInt32(truncatingIfNeeded: word)
    generation = UInt32(truncatingIfNeeded: word >> 32)
  }
}

/// A bounded table of values at stable indices, so that connections and sessions are named by small
/// numbers instead of references. Freed slots are reused, last freed first.
///
/// Address space for all slots is allocated at once, up to `reservedBytes`: the kernel provides
/// memory only for touched pages. Growth by doubling would copy every element and leave the smaller
/// tables as holes in the heap, which were a third of the memory of an idle connection.
///
/// Invariant: a slot is initialised exactly while its generation is odd. Every access checks it, so
/// the type is memory safe although its storage is a pointer.
@frozen
@safe
public struct Slab<Element: ~Copyable>: ~Copyable {
  @usableFromInline var elements: UnsafeMutablePointer<Element>
  @usableFromInline var generations: [UInt32] = []
  @usableFromInline var free: [UInt32] = []
  @usableFromInline var capacity: Int
  @usableFromInline var limit: Int
  /// Bytes of address space, not of resident memory.
  @usableFromInline static var reservedBytes: Int { 67_108_864 }
  @usableFromInline var used = 0

  @inlinable public var count: Int { used }

  @inlinable
  public init(limit: Int) {
    precondition(limit > 0 && limit < Int(UInt32.max), "a slab's indices are 32 bits wide")
    self.limit = limit
    capacity = max(1, min(limit, Slab.reservedBytes / max(1, MemoryLayout<Element>.stride)))
    // SAFETY: freed in `deinit`; `insert` initialises a slot before it returns its name.
    unsafe elements = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
  }

  deinit {
    for index in 0..<generations.count where generations[index] & 1 == 1 {
      // SAFETY: an odd generation means an initialised slot.
      unsafe (elements + index).deinitialize(count: 1)
    }
    unsafe elements.deallocate()
  }

  /// Allows more elements; a lower limit is ignored, since more may be in use.
  public mutating func raise(limit new: Int) {
    precondition(new < Int(UInt32.max), "a slab's indices are 32 bits wide")
    limit = max(limit, new)
  }

  /// One more than the highest index ever used: the upper bound of a loop over all slots.
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

  /// Moves the value into a free slot. Returns nil when all `limit` slots are in use.
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

  /// The same element through an addressor, for the hot path: the coroutine accessor may copy a
  /// whole large element to read one field. A closure that uses it borrows the slab's owner.
  @inlinable
  public subscript(at index: Int) -> Element {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address(of: index)) }
    @inline(__always) unsafeMutableAddress { unsafe address(of: index) }
  }

  /// The element's address, valid until the slab changes: for a type that wraps the slab.
  @inlinable @inline(__always)
  public func address(of index: Int) -> UnsafeMutablePointer<Element> {
    precondition(isOccupied(index), "the slot is empty")
    // SAFETY: an odd generation means an initialised slot.
    return unsafe elements + index
  }

  @usableFromInline
  mutating func grow() {
    let larger = min(capacity * 2, limit)
    // SAFETY: slots in use are moved one by one; the old storage is freed and not read again.
    let moved = UnsafeMutablePointer<Element>.allocate(capacity: larger)
    for index in 0..<generations.count where generations[index] & 1 == 1 {
      unsafe (moved + index).initialize(to: (elements + index).move())
    }
    unsafe elements.deallocate()
    unsafe elements = moved
    capacity = larger
  }
}
