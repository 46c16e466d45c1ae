import CLinux

/// What a loop waits for on a descriptor. Errors and hang-ups are always reported.
public struct Interest: OptionSet, Hashable, Sendable {
  public var rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let read = Interest(rawValue: EPOLLIN.rawValue)
  public static let write = Interest(rawValue: EPOLLOUT.rawValue)
  /// Also when the peer will send nothing more.
  public static let readHangUp = Interest(rawValue: EPOLLRDHUP.rawValue)
  /// Once for each change instead of for as long as it lasts.
  public static let edgeTriggered = Interest(rawValue: EPOLLET.rawValue)
}

/// One thing that happened.
public struct Event: Sendable {
  /// What was given with the descriptor.
  public var datum: UInt64
  var flags: UInt32

  public var isReadable: Bool { flags & EPOLLIN.rawValue != 0 }
  public var isWritable: Bool { flags & EPOLLOUT.rawValue != 0 }
  /// Both directions are over, or an error waits to be read by the next call.
  public var isHungUp: Bool { flags & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 }
  public var isReadHungUp: Bool { flags & EPOLLRDHUP.rawValue != 0 }
}

/// Room for the events of one wait, made once for a loop.
@safe public struct Events: ~Copyable {
  public let capacity: Int
  public fileprivate(set) var count = 0
  // `epoll_event` holds a union, which alone makes it unsafe; only `u64` of it is ever used here.
  fileprivate var storage: [epoll_event]

  public init(capacity: Int) {
    precondition(capacity > 0, "an epoll needs room for an event")
    self.capacity = capacity
    // SAFETY: all members of the union are written by zeros.
    unsafe storage = [epoll_event](repeating: epoll_event(), count: capacity)
  }

  @inline(__always)
  public subscript(index: Int) -> Event {
    precondition(index < count, "no such event")
    // SAFETY: the union is only ever written through its `u64` member.
    return unsafe Event(datum: storage[index].data.u64, flags: storage[index].events)
  }
}

/// An epoll instance (epoll(7)). A descriptor leaves it when it is closed, so an owner only has to
/// make sure that a datum it no longer knows is ignored.
public struct Epoll: ~Copyable {
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

  /// For descriptors that a C library owns (libpq). Their owner may close and reopen them at will.
  public func add(rawValue: Int32, _ interest: Interest, datum: UInt64) throws(Errno) {
    try control(EPOLL_CTL_ADD, rawValue, interest, datum)
  }

  public func modify(rawValue: Int32, _ interest: Interest, datum: UInt64) throws(Errno) {
    try control(EPOLL_CTL_MOD, rawValue, interest, datum)
  }

  public func remove(rawValue: Int32) throws(Errno) {
    try control(EPOLL_CTL_DEL, rawValue, [], 0)
  }

  /// Waits for events, `timeoutMilliseconds` at most (-1: for ever). A signal ends the wait with
  /// none, so that the caller looks at its clock again.
  public func wait(into events: inout Events, timeoutMilliseconds: Int32) throws(Errno) {
    let capacity = Int32(events.capacity)
    events.count = 0
    let number = descriptor.rawValue
    // SAFETY: the array has `capacity` elements and is not touched during the call.
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

  /// The same with nanoseconds (epoll_pwait2(2)): for load tests, which have messages due at a
  /// moment.
  public func wait(into events: inout Events, timeoutNanoseconds: Int64) throws(Errno) {
    let capacity = Int32(events.capacity)
    events.count = 0
    let number = descriptor.rawValue
    var timeout = timespec(
      tv_sec: Int(timeoutNanoseconds / 1_000_000_000),
      tv_nsec: Int(timeoutNanoseconds % 1_000_000_000))
    // SAFETY: the array has `capacity` elements and is not touched during the call; the timeout is
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
    // SAFETY: `u64` is the only member of the union that this type writes or reads.
    var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: datum))
    let number = descriptor.rawValue
    // SAFETY: the event is read during the call only.
    _ = try retrying { unsafe epoll_ctl(number, operation, other, &event) }
  }
}
