/// The due times of messages: an open arrival process, which does not wait for the gateway.
import ArgumentParser
import Foundation
import Primitives

struct Arrivals {
  enum Spacing: String, CaseIterable, ExpressibleByArgument, Sendable, Codable {
    /// Exponential gaps (a Poisson process), as independent people produce them.
    case poisson
    /// Equal gaps.
    case constant
  }

  private(set) var next: Instant
  let ends: Instant
  private let meanNanoseconds: Double
  private let spacing: Spacing
  private var random: RandomStream

  init(
    perSecond rate: Double, spacing: Spacing, from start: Instant, seconds: Int, seed: UInt64
  ) {
    precondition(rate > 0, "an arrival process needs a rate")
    meanNanoseconds = 1_000_000_000 / rate
    self.spacing = spacing
    random = RandomStream(seed: seed)
    ends = start.advanced(byMilliseconds: Int64(seconds) * 1000)
    next = start
    advance()
  }

  var isOver: Bool { next >= ends }

  /// The due time of the next message, if it has come.
  mutating func take(_ now: Instant) -> Instant? {
    guard next <= now, !isOver else { return nil }
    defer { advance() }
    return next
  }

  private mutating func advance() {
    var gap = meanNanoseconds
    if spacing == .poisson {
      gap *= -log(Double.random(in: Double.ulpOfOne..<1, using: &random))
    }
    next = Instant(nanoseconds: next.nanoseconds + Int64(gap))
  }
}
