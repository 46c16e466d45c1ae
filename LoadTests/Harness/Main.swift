/// chirrup-load: drives a gateway with many clients and verifies that it keeps its promises.
import ArgumentParser
import Foundation

@main
struct ChirrupLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup-load",
    abstract: "Put load on a Chirrup gateway and verify its promises.",
    subcommands: commands + [Compare.self, Diff.self, Redraw.self, Figures.self, Worker.self])

  /// The commands that measure, for which a profile can be written.
  static let commands: [any ParsableCommand.Type] = [
    Chat.self, Echo.self, Fanout.self, Upgrades.self, Idle.self, Storm.self, Slow.self,
    Growth.self, Million.self, Torture.self, Durable.self,
  ]

  static func main() {
    do throws(ProfileFault) {
      main(try Profile.expand(Array(CommandLine.arguments.dropFirst()), commands: commands))
    } catch {
      FileHandle.standardError.write(Data("chirrup-load: \(error)\n".utf8))
      // The status of a mistake on the command line.
      Foundation.exit(ExitCode.validationFailure.rawValue)
    }
  }
}
