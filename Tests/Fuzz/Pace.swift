// Compiled into every target: no input may cost more than a stated time for each KiB of it, so that
// nobody can make the gateway slow by being cheap himself.

/// Microseconds for each KiB: a millisecond, four times that with AddressSanitizer.
private let microsecondsMax = 4_000

/// Runs `body`, and where it was slow, again: what is slow every time is a finding, what is slow
/// once was the machine.
func paced(_ byteCount: Int, _ body: () -> Void) {
  let limit = Duration.microseconds(microsecondsMax * (byteCount / 1024 + 1))
  for _ in 0..<8 {
    let started = ContinuousClock.now
    body()
    if ContinuousClock.now - started <= limit { return }
  }
  preconditionFailure("\(byteCount) bytes take longer than \(limit)")
}
