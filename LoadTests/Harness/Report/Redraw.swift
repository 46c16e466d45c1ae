/// `chirrup-load report` and `figures`: what can be done without a gateway.
import ArgumentParser
import Foundation

struct Redraw: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Draws the page of a run whose JSON was kept.")

  @Argument(help: "What --json wrote.")
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
    abstract: "Lists the figures that thresholds may limit.")

  func run() {
    for figure in Figure.all {
      print(figure.name.padded(34), "\(figure.label), \(figure.unit.rawValue)".trimmed)
    }
  }
}
