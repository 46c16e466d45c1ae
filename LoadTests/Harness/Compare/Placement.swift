/// Where servers and clients run: the server that is measured on one core, its client on another,
/// both before all other processes if the kernel allows it.
///
/// The real-time class (sched(7), round robin) keeps a compiler in the next window from delaying a
/// wake-up by a whole tick of 4 ms.
import Foundation
import Kernel

struct Placement {
  private let coreCount: Int
  let serverCore: Int
  let clientCore: Int
  let isRealTime: Bool
  let description: String

  /// Tries out what is allowed here.
  init(serverCore: Int?, clientCore: Int?, wantsRealTime: Bool) throws {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    coreCount = cores
    self.serverCore = serverCore ?? 0
    self.clientCore = clientCore ?? (cores > 1 ? 1 : 0)
    for core in [self.serverCore, self.clientCore]
    where !Placement.succeeds("taskset", ["-c", String(core), "true"]) {
      throw PlanFailure("`taskset -c \(core)` fails: choose other cores (there are \(cores))")
    }
    isRealTime = wantsRealTime && Placement.succeeds("chrt", ["-r", "1", "true"])
    let together = self.serverCore == self.clientCore ? ", which they share" : ""
    let priority =
      isRealTime
      ? "both under chrt -r 1"
      : wantsRealTime
        ? "without chrt -r 1, which is refused here: neighbours will disturb"
        : "without chrt -r 1: neighbours will disturb"
    description =
      "servers on core \(self.serverCore), clients on core \(self.clientCore)\(together), "
      + priority
  }

  /// A client, as it is started.
  func client(_ command: [String], of work: WorkPlan.Kind) -> Command {
    let place =
      work.sharesCores
      ? []
      : (isRealTime ? ["chrt", "-r", "1"] : []) + ["taskset", "-c", String(clientCore)]
    let words = place + command
    return Command(words[0], Array(words.dropFirst()))
  }

  /// A server that runs. Only its own threads are moved: the gateway's PostgreSQL stays where the
  /// kernel likes it.
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
