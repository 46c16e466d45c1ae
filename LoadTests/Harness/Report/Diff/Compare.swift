/// `chirrup-load diff`: two runs whose JSON was kept.
import ArgumentParser
import Foundation

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compares two runs: what differs by more than chance.",
    discussion: """
      A difference counts if it is larger than what the seconds (or rounds) of each run differ \
      among themselves would explain: two standard errors of the ratio, with seconds that resemble \
      their neighbours counted as fewer. Two runs after each other can differ by more than that on \
      a machine that others use too: for a claim run several, in turns.
      """)

  @Argument(help: "The run before: what --json wrote.")
  var before: String
  @Argument(help: "The run after.")
  var after: String
  @Option(help: "Writes the comparison there as one HTML page.")
  var html: String?
  @Flag(help: "End with 1 when something is worse by more than the noise.")
  var check = false

  func run() throws {
    let difference = Difference(try RunRecord(file: before), try RunRecord(file: after))
    print(difference)
    if let html {
      try Data(DifferencePage.text(difference).utf8).write(to: URL(filePath: html))
    }
    if check, difference.isWorse { throw ExitCode(1) }
  }
}
