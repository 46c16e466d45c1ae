public import Primitives

/// An index into a table. Each table has its own index type, so that an index into another one does
/// not compile.
///
/// An index does not identify an element, since it is reused. State that outlives one call keeps an
/// identifier with a generation (`ConnectionID`, `LoadedSessionID`).
public protocol TableIndex: Hashable, Comparable, Strideable, Sendable where Stride == Int {
  var raw: UInt32 { get }
  init(_ value: Int)
}

extension TableIndex {
  @inlinable public var value: Int { @inline(__always) get { Int(raw) } }

  @inlinable @inline(__always)
  public static func < (left: Self, right: Self) -> Bool { left.raw < right.raw }

  @inlinable @inline(__always)
  public func distance(to other: Self) -> Int { Int(other.raw) - Int(raw) }

  @inlinable @inline(__always)
  public func advanced(by count: Int) -> Self { Self(Int(raw) + count) }
}

/// An index into a loop's `ConnectionTable`.
@frozen
public struct ConnectionIndex: TableIndex {
  public let raw: UInt32

  @inlinable @inline(__always)
  public init(_ value: Int) { raw = UInt32(value) }

  /// The index of no connection.
  @usableFromInline static var none: Self { Self(Int(UInt32.max)) }
}

/// One connection's stay in a table: the index and its generation. An answer or mail with an
/// outdated generation matches no connection.
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

/// An index into a loop's `SessionTable`.
@frozen
public struct SessionIndex: TableIndex {
  public let raw: UInt32

  @inlinable @inline(__always)
  public init(_ value: Int) { raw = UInt32(value) }
}

/// One stay of a session in memory: the index and its generation.
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

/// An index into a connection's list of subscriptions.
struct SubscriptionIndex: TableIndex {
  let raw: UInt32

  @inline(__always)
  init(_ value: Int) { raw = UInt32(value) }
}

/// An index into a session's list of subscribers.
struct SubscriberIndex: TableIndex {
  let raw: UInt32

  @inline(__always)
  init(_ value: Int) { raw = UInt32(value) }
}

/// An index into `SessionSnapshot.marks`.
struct MarkIndex: Equatable {
  let value: Int
}

/// A set of loops, by number.
struct LoopSet: Equatable {
  /// `Effects.init` refuses more loops than this.
  static let countMax = 64

  private var bits: UInt64 = 0

  init() {}
  init(_ loop: Int) { insert(loop) }

  var isEmpty: Bool { bits == 0 }

  func contains(_ loop: Int) -> Bool { bits & 1 << UInt64(loop) != 0 }

  mutating func insert(_ loop: Int) { bits |= 1 << UInt64(loop) }

  mutating func remove(_ loop: Int) { bits &= ~(1 << UInt64(loop)) }

  mutating func formUnion(_ other: LoopSet) { bits |= other.bits }

  @inline(__always)
  func forEach(_ body: (Int) -> Void) {
    var rest = bits
    while rest != 0 {
      body(rest.trailingZeroBitCount)
      rest &= rest - 1
    }
  }
}
