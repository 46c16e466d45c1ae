/// A part of the hot path, repeated for measurement: `chirrup-bench` counts its instructions under
/// valgrind or measures its time.
///
/// A workload allocates everything in its initializer and is warmed up before it is counted. Its
/// state is a value, as in the gateway, so that its costs are the same.
protocol Workload: ~Copyable {
  /// Performs `count` operations, a multiple of `Work.step`.
  mutating func run(_ count: Int)
}

/// A workload by name.
public struct Work: Sendable {
  public let name: String
  /// A description of one operation.
  public let operation: String
  /// The number of operations in one call of the measured code.
  public let step: Int
  private let start: @Sendable () -> Running

  /// Creates the workload and warms it up.
  public func begin() -> Running {
    let running = start()
    running.run(1024 / step * step)
    return running
  }

  init<Kind: Workload & ~Copyable & SendableMetatype>(
    _ name: String, _ operation: String, step: Int = 1, _ make: @escaping @Sendable () -> Kind
  ) {
    self.name = name
    self.operation = operation
    self.step = step
    start = { Held(make()) }
  }

  public static let all = known + frames + texts + conversations + handshakes + durations
}

/// A workload that is ready to run.
public class Running {
  public func run(_ count: Int) {}
}

private final class Held<Kind: Workload & ~Copyable>: Running {
  private var workload: Kind
  init(_ workload: consuming Kind) { self.workload = workload }
  override func run(_ count: Int) { workload.run(count) }
}
