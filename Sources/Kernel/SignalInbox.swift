/// The signals of a process for one thread, which waits for them with epoll. Work on that thread
/// that takes long can see that the process is to end, without losing the signal.
public final class SignalInbox {
  /// Signals that are kept; further ones stay in the kernel.
  private static let keptMax = 8

  private let descriptor: SignalDescriptor
  private var kept: [Signal] = []

  public init(_ signals: [Signal]) throws(Errno) { descriptor = try SignalDescriptor(signals) }

  /// For epoll.
  public var rawValue: Int32 { descriptor.rawValue }

  /// Whether `next` has a signal of which epoll no longer knows.
  public var hasKept: Bool { !kept.isEmpty }

  /// The next pending signal; nil without any.
  public func next() -> Signal? { kept.isEmpty ? descriptor.next() : kept.removeFirst() }

  /// Whether SIGTERM or SIGINT is pending. `next` returns it later.
  public func hasEnd() -> Bool {
    while kept.count < SignalInbox.keptMax, let signal = descriptor.next() { kept.append(signal) }
    return kept.contains { $0 == .terminate || $0 == .interrupt }
  }
}
