/// Pieces of the hot path, each to be repeated as often as one likes: `chirrup-bench` counts their
/// instructions under valgrind, and the package beside it their time.
///
/// A workload makes everything it needs when it begins, and has warmed up before it is counted; its
/// state is a value, as in the gateway, so that nothing is paid here that is not paid there.
protocol Workload: ~Copyable {
  /// Carries out `count` operations, a multiple of `Work.step`.
  mutating func run(_ count: Int)
}

public struct Work: Sendable {
  public let name: String
  /// What one operation is.
  public let operation: String
  /// Operations come in such portions.
  public let step: Int
  private let start: @Sendable () -> Running

  /// A workload that has begun and is warm.
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

  public static let all = known + frames + texts + conversations + handshakes
}

public class Running {
  public func run(_ count: Int) {}
}

private final class Held<Kind: Workload & ~Copyable>: Running {
  private var workload: Kind
  init(_ workload: consuming Kind) { self.workload = workload }
  override func run(_ count: Int) { workload.run(count) }
}
