/// Waits for what other threads and gateways do.
import Testing

struct NeverHappened: Error, CustomStringConvertible {
  let description: String
}

/// Looks again and again until a condition holds, and then gives up. The looks are counted and not
/// the time, since beside a thousand other tests a task may sleep for minutes.
func eventually(_ what: String, _ condition: () throws -> Bool) async throws {
  for _ in 0..<12_000 {
    if try condition() { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  throw NeverHappened(description: "not within 12,000 looks: \(what)")
}
