/// The pauses between the attempts of a delivery: each is three times the last, up to 4,680 times
/// the first. Jitter takes up to a fifth, so that deliveries that failed together are not retried
/// together. With a first pause of 5 s twelve attempts take about a day.
public struct RetrySchedule: Sendable {
  public static let attemptsMax = 12
  static let growth: Int64 = 3
  static let pausesMax: Int64 = 4_680

  public var firstMilliseconds: Int64

  public init(firstMilliseconds: Int64) { self.firstMilliseconds = firstMilliseconds }

  /// The pause in milliseconds after an attempt; nil if it was the last.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt; the first is 1.
  ///   - random: a random number, for the jitter.
  public func pause(after attempt: Int, random: UInt64) -> Int64? {
    guard attempt < RetrySchedule.attemptsMax else { return nil }
    var pause = firstMilliseconds
    let longest = firstMilliseconds * RetrySchedule.pausesMax
    for _ in 1..<max(1, attempt) where pause < longest { pause *= RetrySchedule.growth }
    pause = min(pause, longest)
    return pause - Int64(random % UInt64(max(1, pause / 5)))
  }
}
