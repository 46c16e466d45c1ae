import Foundation
import Kernel
import Settings
import Testing

@testable import chirrup

/// The table of `chirrup doctor` and its documentation. Tests/EndToEnd/doctor.sh makes the faults.
@Suite struct DoctorTests {
  private static let page: [String] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try? String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    return (text ?? "").components(separatedBy: "\n")
  }()

  @Test("the section “Troubleshooting” of README.md is the table of the checks")
  func documented() throws {
    let start = try #require(Self.page.firstIndex(of: "## Troubleshooting"))
    let section = Self.page[(start + 1)...].prefix { !$0.hasPrefix("## ") }
    let rows = section.filter { $0.hasPrefix("| `") }
    let table = DoctorCheck.all.map { "| `\($0.name)` | \($0.symptom) | \($0.remedy) |" }
    #expect(Array(rows) == table)
  }

  @Test("each check has a name of its own, and the end-to-end test makes it fail")
  func complete() throws {
    let names = DoctorCheck.all.map(\.name)
    #expect(Set(names).count == names.count && names.count > 20)
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "EndToEnd/doctor.sh")
    let text = try String(contentsOf: script, encoding: .utf8)
    for name in names {
      let isTried =
        text.contains(" FAIL \(name) ") || text.contains(" WARN \(name) ")
        || text.contains("--only \(name) ")
      #expect(isTried, "\(name)")
    }
  }

  @Test("a check that takes longer than its limit has failed, and its thread holds nobody up")
  func limit() {
    let check = DoctorCheck(
      name: "slow", symptom: "", remedy: "wait", limitMilliseconds: 50
    ) { _ in
      Thread.sleep(milliseconds: 60_000)
      return .ok("late")
    }
    let begin = ContinuousClock.now
    let diagnosis = check.examine(Examination(.success((Settings(), [])), authority: nil))
    #expect(diagnosis == .failure("no result within 0 s", mend: "wait"))
    #expect(ContinuousClock.now - begin < .seconds(30))
  }

  @Test("an error of a check is a failure with its reason, on one line")
  func error() {
    struct Broken: Error, CustomStringConvertible { var description = "one\n  two" }
    let check = DoctorCheck(name: "broken", symptom: "", remedy: "repair") { _ in throw Broken() }
    let diagnosis = check.examine(Examination(.success((Settings(), [])), authority: nil))
    #expect(diagnosis == .failure("the check did not succeed: one two", mend: "repair"))
  }
}
