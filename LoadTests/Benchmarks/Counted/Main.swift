/// `chirrup-bench`: runs workloads so that something else can count what they cost, see
/// LoadTests/Costs/instructions.py.
import Foundation
import Synchronization
import Workloads

/// Where one count ends and the next begins: valgrind looks for this name.
@inline(never)
func countingMark() { marks.add(1, ordering: .relaxed) }
let marks = Atomic(0)

let help = """
  USAGE: chirrup-bench list
         chirrup-bench time [NAME…]
         chirrup-bench count OPERATIONS [NAME…]

  `list` prints the workloads, and what one operation of each is. `time` prints the nanoseconds
  of an operation, the median of 21 rounds and the quickest: figures of this machine at this
  moment, and only good for comparison with others of the same machine and moment. `count`
  carries out so many operations of each workload, and then twice as many, with a call of
  `countingMark` before, between and behind them: the difference is what these operations cost,
  without what a run costs.
  """

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

/// Nanoseconds of an operation: each round lasts some milliseconds, so that the clock's own cost
/// does not matter.
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

/// Those that are named, or all.
func chosen(_ names: ArraySlice<String>) -> [Work] {
  for name in names where !Work.all.contains(where: { $0.name == name }) {
    fail("there is no workload \(name); `chirrup-bench list` names them")
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
