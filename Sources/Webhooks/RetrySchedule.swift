/// When a delivery that has failed is tried again: after pauses that grow threefold, up to 4,680
/// times the first one. Each is shortened by up to a fifth at random, so that what failed together
/// does not come back together. With a first pause of 5 s twelve attempts take about a day.
public struct RetrySchedule: Sendable {
  public static let attemptsMax = 12
  static let growth: Int64 = 3
  static let pausesMax: Int64 = 4_680

  public var firstMilliseconds: Int64

  public init(firstMilliseconds: Int64) { self.firstMilliseconds = firstMilliseconds }

  /// Milliseconds after the attempt of this number (the first is 1), or nil when it was the last.
  /// `random` is any number.
  public func pause(after attempt: Int, random: UInt64) -> Int64? {
    guard attempt < RetrySchedule.attemptsMax else { return nil }
    var pause = firstMilliseconds
    let longest = firstMilliseconds * RetrySchedule.pausesMax
    for _ in 1..<max(1, attempt) where pause < longest { pause *= RetrySchedule.growth }
    pause = min(pause, longest)
    return pause - Int64(random % UInt64(max(1, pause / 5)))
  }
}
