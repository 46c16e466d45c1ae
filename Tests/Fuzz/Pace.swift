// Part of every target: a limit on the time for each KiB of input, so that a peer cannot slow the
// gateway down at a low cost.

/// Microseconds for each KiB: one millisecond, times four for AddressSanitizer.
private let microsecondsMax = 4_000

/// Runs `body` up to eight times. It fails if every run is too slow, since the machine may cause a
/// single slow run.
func paced(_ byteCount: Int, _ body: () -> Void) {
  let limit = Duration.microseconds(microsecondsMax * (byteCount / 1024 + 1))
  for _ in 0..<8 {
    let started = ContinuousClock.now
    body()
    if ContinuousClock.now - started <= limit { return }
  }
  preconditionFailure("\(byteCount) bytes take longer than \(limit)")
}
