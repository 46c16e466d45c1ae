/// An optional value with a short life, stored on the heap: its owner pays one word while it is
/// absent.
///
/// Invariant: `place` is non-nil exactly while a value is initialised there.
@frozen
@safe
public struct HeapBox<Value: ~Copyable>: ~Copyable {
  @usableFromInline var place: UnsafeMutablePointer<Value>?

  @inlinable public var isEmpty: Bool { unsafe place == nil }

  @inlinable public init() { unsafe place = nil }

  @inlinable
  public init(_ value: consuming Value) {
    unsafe place = nil
    put(value)
  }

  deinit {
    // SAFETY: a non-nil `place` is initialised.
    unsafe place?.deinitialize(count: 1)
    unsafe place?.deallocate()
  }

  /// Stores a value and destroys the previous one, if any.
  @inlinable
  public mutating func put(_ value: consuming Value) {
    remove()
    // SAFETY: freed only by `remove` or in `deinit`.
    let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    unsafe place.initialize(to: value)
    unsafe self.place = place
  }

  @inlinable
  public mutating func remove() {
    guard let place = unsafe place else { return }
    // SAFETY: a non-nil `place` is initialised, and this is its only owner.
    unsafe place.deinitialize(count: 1)
    unsafe place.deallocate()
    unsafe self.place = nil
  }

  /// The stored value. Precondition: a value is present.
  @inlinable
  public var value: Value {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address) }
    @inline(__always) unsafeMutableAddress { unsafe address }
  }

  @inlinable @inline(__always)
  var address: UnsafeMutablePointer<Value> {
    guard let place = unsafe place else { preconditionFailure("no value is stored") }
    return unsafe place
  }
}

// SAFETY: this is the value's only owner, so sending the box sends the value.
extension HeapBox: @unchecked Sendable where Value: Sendable & ~Copyable {}
