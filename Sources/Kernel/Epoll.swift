import CLinux

/// The awaited states of a descriptor. Errors and hang-ups are always reported.
public struct Interest: OptionSet, Hashable, Sendable {
  public var rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let read = Interest(rawValue: EPOLLIN.rawValue)
  public static let write = Interest(rawValue: EPOLLOUT.rawValue)
  /// Also reports that the peer has ended its stream.
  public static let readHangUp = Interest(rawValue: EPOLLRDHUP.rawValue)
  /// Reports each change once instead of repeatedly.
  public static let edgeTriggered = Interest(rawValue: EPOLLET.rawValue)
  /// Wakes one of the waiting instances instead of all. Such a descriptor cannot be modified, only
  /// removed and added (epoll_ctl(2)).
  public static let exclusive = Interest(rawValue: EPOLLEXCLUSIVE.rawValue)
}

/// One event of a descriptor.
public struct Event: Sendable {
  /// The value that was registered with the descriptor.
  public var datum: UInt64
  var flags: UInt32

  public var isReadable: Bool { flags & EPOLLIN.rawValue != 0 }
  public var isWritable: Bool { flags & EPOLLOUT.rawValue != 0 }
  /// Both directions are closed, or the next call returns an error.
  public var isHungUp: Bool { flags & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 }
  public var isReadHungUp: Bool { flags & EPOLLRDHUP.rawValue != 0 }
}

/// A buffer for the events of a wait, allocated once per loop.
@safe public struct Events: ~Copyable {
  public let capacity: Int
  public fileprivate(set) var count = 0
  // `epoll_event` contains a union, which makes it unsafe; only its member `u64` is used.
  fileprivate var storage: [epoll_event]

  public init(capacity: Int) {
    precondition(capacity > 0, "an epoll needs room for an event")
    self.capacity = capacity
    // SAFETY: zeros are valid for all members of the union.
    unsafe storage = [epoll_event](repeating: epoll_event(), count: capacity)
  }

  @inline(__always)
  public subscript(index: Int) -> Event {
    precondition(index < count, "no such event")
    // SAFETY: the union is only written through its member `u64`.
    return unsafe Event(datum: storage[index].data.u64, flags: storage[index].events)
  }
}

/// An epoll instance (epoll(7)). Closing a descriptor removes it, so an owner only has to ignore
/// events with a datum that it no longer knows.
public struct Epoll: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  public init() throws(Errno) {
    let number = try retrying { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    descriptor = FileDescriptor(owning: number)
  }

  public func add(
    _ other: borrowing FileDescriptor, _ interest: Interest, datum: UInt64
  ) throws(Errno) {
    try add(rawValue: other.rawValue, interest, datum: datum)
  }

  public func modify(
    _ other: borrowing FileDescriptor, _ interest: Interest, datum: UInt64
  ) throws(Errno) {
    try modify(rawValue: other.rawValue, interest, datum: datum)
  }

  public func remove(_ other: borrowing FileDescriptor) throws(Errno) {
    try remove(rawValue: other.rawValue)
  }

  /// Adds a descriptor that a C library owns (libpq), and may close and reopen.
  public func add(rawValue: Int32, _ interest: Interest, datum: UInt64) throws(Errno) {
    try control(EPOLL_CTL_ADD, rawValue, interest, datum)
  }

  public func modify(rawValue: Int32, _ interest: Interest, datum: UInt64) throws(Errno) {
    try control(EPOLL_CTL_MOD, rawValue, interest, datum)
  }

  public func remove(rawValue: Int32) throws(Errno) {
    try control(EPOLL_CTL_DEL, rawValue, [], 0)
  }

  /// Waits for events, at most `timeoutMilliseconds` (-1: without limit). A signal ends the wait
  /// without events.
  public func wait(into events: inout Events, timeoutMilliseconds: Int32) throws(Errno) {
    let capacity = Int32(events.capacity)
    events.count = 0
    let number = descriptor.rawValue
    // SAFETY: the array has `capacity` elements and does not change during the call.
    let count = unsafe events.storage.withUnsafeMutableBufferPointer { buffer in
      unsafe epoll_wait(number, buffer.baseAddress, capacity, timeoutMilliseconds)
    }
    if count >= 0 {
      events.count = Int(count)
      return
    }
    let error = Errno.current
    if error != .interrupted { throw error }
  }

  /// The same with nanoseconds (epoll_pwait2(2)), for load tests with exact due times.
  public func wait(into events: inout Events, timeoutNanoseconds: Int64) throws(Errno) {
    let capacity = Int32(events.capacity)
    events.count = 0
    let number = descriptor.rawValue
    var timeout = timespec(
      tv_sec: Int(timeoutNanoseconds / 1_000_000_000),
      tv_nsec: Int(timeoutNanoseconds % 1_000_000_000))
    // SAFETY: the array has `capacity` elements and does not change during the call; the timeout is
    // only read, and no signal mask is given.
    let count = unsafe events.storage.withUnsafeMutableBufferPointer { buffer in
      unsafe epoll_pwait2(number, buffer.baseAddress, capacity, &timeout, nil)
    }
    if count >= 0 {
      events.count = Int(count)
      return
    }
    let error = Errno.current
    if error != .interrupted { throw error }
  }

  private func control(
    _ operation: Int32, _ other: Int32, _ interest: Interest, _ datum: UInt64
  ) throws(Errno) {
    // SAFETY: `u64` is the only member of the union that is written or read.
    var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: datum))
    let number = descriptor.rawValue
    // SAFETY: the event is read during the call.
    _ = try retrying { unsafe epoll_ctl(number, operation, other, &event) }
  }
}
