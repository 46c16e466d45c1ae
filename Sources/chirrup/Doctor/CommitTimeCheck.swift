/// How long PostgreSQL takes to flush a commit. Each message waits for one.
///
/// Measured are whole commits: each transaction writes one record of a few bytes into the
/// write-ahead log (pg_logical_emit_message), which no table holds, and COMMIT returns when it is
/// flushed.
import Kernel
import Postgres
import Primitives

extension DoctorCheck {
  static let commitTime = DoctorCheck(
    name: "commit_time", symptom: "each message is acknowledged late",
    remedy: "move PostgreSQL's data to a disk with a faster flush (an SSD with power-loss "
      + "protection), and check commit_delay and synchronous standbys"
  ) { examination in
    try examination.connected { connection in
      let times = try CommitFigures.measure(connection)
      let median = CommitFigures.text(times[times.count / 2])
      let late = CommitFigures.text(times[min(times.count - 1, times.count * 99 / 100)])
      let text =
        "\(times.count) commits of one record took \(median) ms at the median, \(late) ms at p99"
      return times[times.count / 2] >= CommitFigures.slowNanoseconds
        ? .warning(text) : .ok(text)
    }
  }
}

enum CommitFigures {
  static let commitsMax = 100
  static let limitMilliseconds: Int64 = 3_000
  /// A rotating disk without a cache takes 8 to 16 ms.
  static let slowNanoseconds: Int64 = 20_000_000

  /// The sorted times of up to `commitsMax` commits in nanoseconds; at least one.
  static func measure(_ connection: BlockingConnection) throws -> [Int64] {
    let end = SystemClock.now().advanced(byMilliseconds: limitMilliseconds)
    var times: [Int64] = []
    repeat {
      // Without synchronous_commit there is nothing to measure; `durability` reports that.
      try connection.execute(
        script: """
          BEGIN; SET LOCAL statement_timeout = 5000;
          SELECT set_config('synchronous_commit', 'local', true)
            WHERE current_setting('synchronous_commit') = 'off';
          SELECT pg_logical_emit_message(true, 'chirrup doctor', 'commit')
          """)
      let begin = SystemClock.now()
      try connection.execute(script: "COMMIT")
      times.append(SystemClock.now().nanoseconds - begin.nanoseconds)
    } while times.count < commitsMax && SystemClock.now() < end
    return times.sorted()
  }

  /// Milliseconds with two decimals.
  static func text(_ nanoseconds: Int64) -> String {
    let hundredths = nanoseconds / 10_000
    let decimals = hundredths % 100
    return "\(hundredths / 100).\(decimals < 10 ? "0" : "")\(decimals)"
  }
}
