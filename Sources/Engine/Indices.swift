public import Primitives

/// A place in a loop's table of connections. It says nothing about which connection stands there
/// later: whatever waits for an answer keeps a `ConnectionID`.
@frozen
public struct ConnectionIndex: Hashable, Comparable, Strideable, Sendable {
  @usableFromInline let raw: UInt32

  @inlinable @inline(__always)
  public init(_ value: Int) { raw = UInt32(value) }

  /// The index of no connection.
  @usableFromInline static var none: Self { Self(Int(UInt32.max)) }

  @inlinable public var value: Int { @inline(__always) get { Int(raw) } }

  @inlinable @inline(__always)
  public static func < (left: Self, right: Self) -> Bool { left.raw < right.raw }

  @inlinable @inline(__always)
  public func distance(to other: Self) -> Int { Int(other.raw) - Int(raw) }

  @inlinable @inline(__always)
  public func advanced(by count: Int) -> Self { Self(Int(raw) + count) }
}

/// One use of a place in the table of connections: the index and its generation. An answer or a
/// mail with an old generation finds nobody.
@frozen
public struct ConnectionID: Hashable, Sendable {
  public let index: ConnectionIndex
  public let generation: UInt32

  @inlinable
  init(_ id: SlotID) {
    index = ConnectionIndex(Int(id.index))
    generation = id.generation
  }

  @inlinable
  init(index: UInt32, generation: UInt32) {
    self.index = ConnectionIndex(Int(index))
    self.generation = generation
  }

  @inlinable var slotID: SlotID { SlotID(index: index.raw, generation: generation) }
}

/// A place in a loop's table of sessions.
@frozen
public struct SessionIndex: Hashable, Comparable, Strideable, Sendable {
  @usableFromInline let raw: UInt32

  @inlinable @inline(__always)
  public init(_ value: Int) { raw = UInt32(value) }

  @inlinable public var value: Int { @inline(__always) get { Int(raw) } }

  @inlinable @inline(__always)
  public static func < (left: Self, right: Self) -> Bool { left.raw < right.raw }

  @inlinable @inline(__always)
  public func distance(to other: Self) -> Int { Int(other.raw) - Int(raw) }

  @inlinable @inline(__always)
  public func advanced(by count: Int) -> Self { Self(Int(raw) + count) }
}

/// One load of a session into memory: the index and its generation.
@frozen
public struct LoadedSessionID: Hashable, Sendable {
  public let index: SessionIndex
  public let generation: UInt32

  @inlinable
  init(_ id: SlotID) {
    index = SessionIndex(Int(id.index))
    generation = id.generation
  }

  @inlinable var slotID: SlotID { SlotID(index: index.raw, generation: generation) }
}
