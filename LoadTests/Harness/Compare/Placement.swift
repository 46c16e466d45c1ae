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
      ? "both under chrt -r 1, except in chats"
      : wantsRealTime
        ? "without chrt -r 1, which is not permitted: other processes will disturb"
        : "without chrt -r 1: other processes will disturb"
    description =
      "servers on core \(self.serverCore), clients on core \(self.clientCore)\(together), "
      + priority
  }

  /// The command of a client, with its placement.
  func client(_ command: [String], of work: WorkPlan) -> Command {
    var place: [String] = []
    if isRealTime, !work.kind.sharesCores { place += ["chrt", "-r", "1"] }
    if !work.kind.sharesCores || work.isSplit { place += ["taskset", "-c", String(clientCore)] }
    let words = place + command
    return Command(words[0], Array(words.dropFirst()))
  }

  /// Places a running server, and for `split` work its PostgreSQL, which would starve behind the
  /// real-time class. Otherwise only the server's own threads are moved: its PostgreSQL stays where
  /// the kernel scheduled it.
  func place(
    server process: Int, onAllCores: Bool, postmaster: Int?, for work: WorkPlan
  ) throws {
    guard !work.kind.sharesCores || work.isSplit else { return }
    try pin(process, to: onAllCores ? "0-\(coreCount - 1)" : String(serverCore))
    if work.isSplit {
      // Later processes inherit it from the first one, so that is moved first.
      let family = postmaster.map { [$0] + LocalGateway.children(of: $0) } ?? []
      for member in family { try pin(member, to: String(clientCore)) }
    } else if isRealTime, !Placement.succeeds("chrt", ["-a", "-r", "-p", "1", String(process)]) {
      throw PlanFailure("chrt -r 1 is refused for process \(process)")
    }
  }

  private func pin(_ process: Int, to cores: String) throws {
    // A process of PostgreSQL may have ended meanwhile.
    guard
      Placement.succeeds("taskset", ["-a", "-c", "-p", cores, String(process)])
        || ProcessSample(process: process, isBrief: true) == nil
    else { throw PlanFailure("process \(process) cannot be moved to core \(cores)") }
  }

  private static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
    var command = Command(program, arguments)
    command.output = .discard
    command.errors = .discard
    return (try? ChildProcess.run(command).status.isSuccess) ?? false
  }
}
