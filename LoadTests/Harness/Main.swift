/// chirrup-load: drives a gateway with many clients and proves what it promised them.
import ArgumentParser

@main
struct ChirrupLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup-load",
    abstract: "Load and prove a Chirrup gateway.",
    subcommands: [Chat.self, Idle.self, Torture.self, Durable.self])
}
