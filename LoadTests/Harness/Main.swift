/// chirrup-load: drives a gateway with many clients and proves what it promised them.
import ArgumentParser
import Foundation

@main
struct ChirrupLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup-load",
    abstract: "Load and prove a Chirrup gateway.",
    subcommands: commands + [Compare.self, Diff.self, Redraw.self, Figures.self, Member.self])

  /// Those that measure: a profile may be for one of them.
  static let commands: [any ParsableCommand.Type] = [
    Chat.self, Echo.self, Fanout.self, Upgrades.self, Idle.self, Storm.self, Slow.self,
    Growth.self, Torture.self, Durable.self,
  ]

  static func main() {
    do throws(ProfileFault) {
      main(try Profile.expand(Array(CommandLine.arguments.dropFirst()), commands: commands))
    } catch {
      FileHandle.standardError.write(Data("chirrup-load: \(error)\n".utf8))
      // As for a mistake on the command line.
      Foundation.exit(ExitCode.validationFailure.rawValue)
    }
  }
}
