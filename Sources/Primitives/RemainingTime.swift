/// The time that a long operation still takes, estimated from its average rate so far.
public enum RemainingTime {
  /// Before this the rate is unknown.
  private static let millisecondsMin: Int64 = 1_000

  /// Whole seconds, rounded up. Nil while the rate is unknown, and once more is done than was
  /// expected: the total was an estimate, and the rest is unknown.
  public static func seconds(done: Int64, total: Int64, milliseconds: Int64) -> Int64? {
    guard milliseconds >= millisecondsMin, done > 0, done < total else { return nil }
    let estimate = Double(total - done) * Double(milliseconds) / Double(done) / 1_000
    return estimate < Double(Int32.max) ? Int64(estimate.rounded(.up)) : nil
  }
}
