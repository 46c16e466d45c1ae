/// Whether the clock of this machine agrees with PostgreSQL's: tokens, bans and queues compare
/// times of both.
import Kernel
import Postgres
import Primitives

extension DoctorCheck {
  static let clock = DoctorCheck(
    name: "clock", symptom: "tokens are refused as expired or not yet valid; times are wrong",
    remedy: "synchronise the clocks of both machines (timedatectl set-ntp true)"
  ) { examination in
    try examination.reading { connection in
      let before = SystemClock.wallTime().microseconds
      let rows = try connection.run(Query("SELECT clock_timestamp()"))
      let after = SystemClock.wallTime().microseconds
      guard let there = rows.time(0, 0)?.microseconds else {
        return .failure("PostgreSQL returned no time")
      }
      let milliseconds = (before + (after - before) / 2 - there) / 1_000
      let text =
        "this machine's clock is \(abs(milliseconds)) ms "
        + "\(milliseconds < 0 ? "behind" : "ahead of") PostgreSQL's"
      switch abs(milliseconds) {
      case ..<ClockFigures.warningMilliseconds: return .ok(text)
      case ..<ClockFigures.failureMilliseconds: return .warning(text)
      default: return .failure(text)
      }
    }
  }
}

enum ClockFigures {
  static let warningMilliseconds: Int64 = 1_000
  /// Tokens have a tolerance of this order.
  static let failureMilliseconds: Int64 = 30_000
}
