/// `chirrup-load diff`: compares two runs by their JSON.
import ArgumentParser
import Foundation

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare two runs: lists differences that are larger than noise.",
    discussion: """
      A difference is significant if it exceeds the variation of the seconds (or rounds) within \
      each run: two standard errors of the ratio, where autocorrelated seconds count as fewer. \
      On a machine with other load, two consecutive runs can differ by more: to support a claim, \
      alternate several runs.
      """)

  @Argument(help: "The earlier run: a file written by --json.")
  var before: String
  @Argument(help: "The later run.")
  var after: String
  @Option(help: "Write the comparison to this file as one HTML page.")
  var html: String?
  @Flag(help: "Exit with 1 when a figure is worse by more than the noise.")
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
