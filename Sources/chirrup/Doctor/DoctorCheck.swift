/// One line of the table of `chirrup doctor`. The table is also the section “Troubleshooting” of
/// README.md; a test compares them.
import Kernel
import Primitives
import Synchronization

struct DoctorCheck: Sendable {
  /// The name in the output and in the README.
  var name: String
  /// The symptom, as an administrator sees it.
  var symptom: String
  /// The remedy, unless the diagnosis has one of its own.
  var remedy: String
  /// A check that takes longer has failed. Its thread is left behind, for example in a name lookup
  /// that cannot be interrupted; the process ends soon.
  var limitMilliseconds: Int64 = DoctorCheck.usualLimitMilliseconds
  /// Other checks need what it finds (`Examination.Facts`), so it always runs.
  var isFoundation = false
  var run: @Sendable (Examination) throws -> Diagnosis

  static let usualLimitMilliseconds: Int64 = 10_000

  static let all: [DoctorCheck] = [
    .settings, .listeners, .sharing, .readiness, .memory, .descriptors, .certificate, .dns,
    .publicURL, .upgrade, .buffering, .forwarding, .database, .schema, .roles, .indexes,
    .durability, .commitTime, .locks, .clock, .databaseConnections, .bloat, .autovacuum,
    .wraparound, .timeZones, .credentialsKey, .gateways, .attachments, .mail,
    .mailbox, .upkeep,
  ]

  /// The result of the check's thread.
  private final class Outcome: Sendable {
    let diagnosis = Mutex<Diagnosis?>(nil)
    let isThere = Semaphore()
  }

  /// Runs the check within its time limit. A warning or a failure has a remedy.
  func examine(_ examination: Examination) -> Diagnosis {
    var diagnosis = result(examination)
    diagnosis.found = diagnosis.found.onOneLine
    diagnosis.remedy =
      switch diagnosis.state {
      case .ok, .skipped: nil
      case .warning, .failure: (diagnosis.remedy ?? remedy).onOneLine
      }
    return diagnosis
  }

  private func result(_ examination: Examination) -> Diagnosis {
    let outcome = Outcome()
    let run = run
    do {
      // Not joined: see `limitMilliseconds`.
      _ = try Thread.spawn(name: name) {
        let diagnosis: Diagnosis
        do {
          diagnosis = try run(examination)
        } catch {
          diagnosis = .failure("the check did not succeed: \(error)")
        }
        outcome.diagnosis.withLock { $0 = diagnosis }
        outcome.isThere.signal()
      }
    } catch {
      return .failure("no thread for the check: \(error)")
    }
    guard outcome.isThere.wait(milliseconds: limitMilliseconds) else {
      return .failure("no result within \(limitMilliseconds / 1_000) s")
    }
    return outcome.diagnosis.withLock { $0 } ?? .failure("the check has no result")
  }
}

extension String {
  /// Texts of servers and libraries may have several lines.
  fileprivate var onOneLine: String {
    split(whereSeparator: \.isNewline).map { $0.trimmingPrefix(while: \.isWhitespace) }
      .joined(separator: " ")
  }
}
