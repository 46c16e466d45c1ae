/// A value that is there for a while only and then lies on the heap, so that the record which has
/// it costs one word for the rest of the time.
@frozen
@safe
public struct Aside<Value: ~Copyable>: ~Copyable {
  @usableFromInline var place: UnsafeMutablePointer<Value>?

  @inlinable public var isEmpty: Bool { unsafe place == nil }

  @inlinable public init() { unsafe place = nil }

  @inlinable
  public init(_ value: consuming Value) {
    unsafe place = nil
    put(value)
  }

  deinit {
    // SAFETY: what has a place is initialised.
    unsafe place?.deinitialize(count: 1)
    unsafe place?.deallocate()
  }

  /// In place of the one that may be there.
  @inlinable
  public mutating func put(_ value: consuming Value) {
    remove()
    // SAFETY: freed by `remove` or with this owner, and by nobody else.
    let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    unsafe place.initialize(to: value)
    unsafe self.place = place
  }

  @inlinable
  public mutating func remove() {
    guard let place = unsafe place else { return }
    // SAFETY: what has a place is initialised, and this is its only owner.
    unsafe place.deinitialize(count: 1)
    unsafe place.deallocate()
    unsafe self.place = nil
  }

  /// Only while there is one.
  @inlinable
  public var value: Value {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address) }
    @inline(__always) unsafeMutableAddress { unsafe address }
  }

  @inlinable @inline(__always)
  var address: UnsafeMutablePointer<Value> {
    guard let place = unsafe place else { preconditionFailure("there is no value") }
    return unsafe place
  }
}

// SAFETY: of sendability: the value has this one owner and goes where it goes.
extension Aside: @unchecked Sendable where Value: Sendable & ~Copyable {}
