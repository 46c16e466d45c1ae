import Foundation
import Testing
import Workloads

/// The workloads of `chirrup-bench`; the costs themselves are counted on the release build, see
/// LoadTests/Costs.
@Suite struct WorkloadTests {
  /// Each workload checks its own result: frames decoded, subscribers served.
  @Test(arguments: Work.all.map(\.name))
  func `every workload does its work`(name: String) throws {
    let work = try #require(Work.all.first { $0.name == name })
    let running = work.begin()
    running.run(3 * work.step)
    #expect(!work.operation.isEmpty)
  }

  @Test func `names are unique and each has its threshold`() throws {
    let names = Work.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(try Set(WorkloadTests.rows(of: "instructions.txt").map { $0[0] }) == Set(names))
  }

  @Test func `known costs are in the table`() throws {
    let rows = try WorkloadTests.rows(of: "instructions.txt")
    let allocation = try #require(rows.first { $0[0] == "known-allocation" })
    #expect(allocation[2...] == ["1", "1"])
    let retain = try #require(rows.first { $0[0] == "known-retain" })
    #expect(retain[2...] == ["0", "4"])
  }

  /// Name, instructions, allocations, retains.
  private static func rows(of table: String) throws -> [[String]] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let file = folder.appending(path: "../../LoadTests/Costs/\(table)")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      .filter { !$0.hasPrefix("#") && !$0.hasPrefix(" ") }
      .map { $0.split(separator: " ").map(String.init) }
  }

  /// The table fails in both directions for any figure; tested by the scripts' `unittest`.
  @Test func `the scripts judge in both directions`() throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../LoadTests/Costs/test_costs.py")
    let python = Process()
    python.executableURL = URL(filePath: "/usr/bin/env")
    python.arguments = ["python3", "-B", script.path(percentEncoded: false)]
    try python.run()
    python.waitUntilExit()
    #expect(python.terminationStatus == 0)
  }
}
