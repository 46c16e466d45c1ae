/// `chirrup-bench`: runs workloads for counting under valgrind, see
/// LoadTests/Costs/instructions.py.
import Foundation
import Synchronization
import Workloads

/// The boundary between two counts. valgrind dumps its counts at calls of this function.
@inline(never)
func countingMark() { marks.add(1, ordering: .relaxed) }
let marks = Atomic(0)

let help = """
  USAGE: chirrup-bench list
         chirrup-bench time [NAME…]
         chirrup-bench count OPERATIONS [NAME…]

  `list` prints the workloads and their operations. `time` prints the nanoseconds of an
  operation, the median of 21 rounds and the least; they are comparable only with others of the
  same machine and moment. `count` performs OPERATIONS operations of each workload and then
  twice as many, and calls `countingMark` before, between and after them. The difference of the
  two counts is the cost of the operations without the cost of a run.
  """

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

/// Prints the nanoseconds of an operation. Each round lasts some milliseconds, so that the cost of
/// the clock is negligible.
func time(_ work: Work) {
  let running = work.begin()
  let clock = ContinuousClock()
  var count = work.step
  while clock.measure({ running.run(count) }) < .milliseconds(4) { count *= 2 }
  let rounds = (0..<21).map { _ in
    Double(clock.measure { running.run(count) } / .nanoseconds(1)) / Double(count)
  }.sorted()
  print("\(work.name)\t\(rounded(rounds[10]))\t\(rounded(rounds[0]))")
}

func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }

/// The named workloads, by default all.
func chosen(_ names: ArraySlice<String>) -> [Work] {
  for name in names where !Work.all.contains(where: { $0.name == name }) {
    fail("unknown workload \(name); see `chirrup-bench list`")
  }
  return Work.all.filter { names.isEmpty || names.contains($0.name) }
}

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "list":
  for work in Work.all { print("\(work.name)\t\(work.operation)") }
case "time":
  print("workload\tns median\tns least")
  for work in chosen(arguments.dropFirst()) { time(work) }
case "count":
  guard arguments.count >= 2, let operations = Int(arguments[1]), operations > 0 else {
    fail(help)
  }
  for work in chosen(arguments.dropFirst(2)) {
    let running = work.begin()
    let count = (operations + work.step - 1) / work.step * work.step
    countingMark()
    running.run(count)
    countingMark()
    running.run(2 * count)
    countingMark()
    print("\(work.name)\t\(count)")
  }
default:
  print(help)
}
