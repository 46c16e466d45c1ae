/// `chirrup-load report` and `figures`, which need no gateway.
import ArgumentParser
import Foundation

struct Redraw: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Create the HTML page of a run from its JSON.")

  @Argument(help: "A file written by --json.")
  var record: String
  @Option(help: "The page to write.")
  var html: String

  func run() throws {
    let page = Page.text(try RunRecord(file: record))
    try Data(page.utf8).write(to: URL(filePath: html))
  }
}

struct Figures: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the figures that thresholds may limit.")

  func run() {
    for figure in Figure.all {
      print(figure.name.padded(34), "\(figure.label), \(figure.unit.rawValue)".trimmed)
    }
  }
}
