/// The placement of processes: the measured server on one core, its client on another, both with
/// priority over other processes if the kernel allows it.
///
/// The real-time class (sched(7), round robin) prevents other processes, such as a compiler, from
/// delaying a wake-up by a tick of 4 ms.
import Foundation
import Kernel

struct Placement {
  private let coreCount: Int
  let serverCore: Int
  let clientCore: Int
  let isRealTime: Bool
  let description: String

  /// Tests which of the calls are permitted.
  init(serverCore: Int?, clientCore: Int?, wantsRealTime: Bool) throws {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    coreCount = cores
    self.serverCore = serverCore ?? 0
    self.clientCore = clientCore ?? (cores > 1 ? 1 : 0)
    for core in [self.serverCore, self.clientCore]
    where !Placement.succeeds("taskset", ["-c", String(core), "true"]) {
      throw PlanFailure(
        "`taskset -c \(core)` failed: choose other cores (the machine has \(cores))")
    }
    isRealTime = wantsRealTime && Placement.succeeds("chrt", ["-r", "1", "true"])
    let together = self.serverCore == self.clientCore ? ", which is the same" : ""
    let priority =
      isRealTime
      ? "both under chrt -r 1"
      : wantsRealTime
        ? "without chrt -r 1, which is not permitted: other processes will disturb"
        : "without chrt -r 1: other processes will disturb"
    description =
      "servers on core \(self.serverCore), clients on core \(self.clientCore)\(together), "
      + priority
  }

  /// The command of a client, with its placement.
  func client(_ command: [String], of work: WorkPlan.Kind) -> Command {
    let place =
      work.sharesCores
      ? []
      : (isRealTime ? ["chrt", "-r", "1"] : []) + ["taskset", "-c", String(clientCore)]
    let words = place + command
    return Command(words[0], Array(words.dropFirst()))
  }

  /// Places a running server. Only its own threads are moved: the gateway's PostgreSQL stays where
  /// the kernel scheduled it.
  func place(server process: Int, onAllCores: Bool) throws {
    let cores = onAllCores ? "0-\(coreCount - 1)" : String(serverCore)
    guard Placement.succeeds("taskset", ["-a", "-c", "-p", cores, String(process)])
    else { throw PlanFailure("process \(process) cannot be moved to core \(cores)") }
    if isRealTime, !Placement.succeeds("chrt", ["-a", "-r", "-p", "1", String(process)]) {
      throw PlanFailure("chrt -r 1 is refused for process \(process)")
    }
  }

  private static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
    var command = Command(program, arguments)
    command.output = .discard
    command.errors = .discard
    return (try? ChildProcess.run(command).status.isSuccess) ?? false
  }
}
