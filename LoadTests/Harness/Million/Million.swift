/// `chirrup-load million`: how many widgets one machine holds, and what each costs.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Million: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Hold as many widgets as fit, over many gateways with one PostgreSQL.",
    discussion: """
      Starts a private PostgreSQL (or uses --database-url), gateways on addresses of 127.0.0.0/8, \
      and client processes. Each widget authenticates as a visitor of its own and subscribes to a \
      session of its own. The number grows by --step. At each size the widgets rest, answer \
      heartbeats and are measured; then one in --speaks-every speaks, in two tabs at different \
      gateways, and every message must be acknowledged once and delivered once to each tab. The \
      growth ends before less than --floor-mebibytes of memory are available. Everything that was \
      started is stopped at the end. Exit status: 1 after a broken promise or a lost connection, \
      3 if fewer than --widgets fit, 2 if it could not run.
      """)

  @Option(help: "The chirrup binary.")
  var chirrup: String
  @Option(help: "Widgets.")
  var widgets = 1_000_000
  @Option(help: "Widgets opened by each step; 0 for a tenth.")
  var step = 0
  @Option(help: "Gateways; 0 for as many as the descriptors require.")
  var gateways = 0
  @Option(help: "Event loops of each gateway.")
  var loops = 1
  @Option(help: "Client processes; 0 for as many as the descriptors require.")
  var processes = 0
  @Option(help: "Widgets opened per second, all together.")
  var rate = 2_000.0
  @Option(help: "Of so many widgets one speaks.")
  var speaksEvery = 1_000
  @Option(help: "Messages of each speaker at each size, in --seconds.")
  var messages = 5
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 128
  @Option(help: "Seconds in which the speakers speak, at each size.")
  var seconds = 10
  @Option(
    help: "Seconds of rest at each size; in 25 each widget answers one heartbeat.")
  var restSeconds = 25
  @Option(help: "Seconds before the rest is measured.")
  var settleSeconds = 25
  @Option(help: "Memory that stays available, in MiB: no step begins that would need it.")
  var floorMebibytes = 5_120
  @Option(help: "The URL of a PostgreSQL to use instead of a private one.")
  var databaseUrl: String?
  @Option(help: "A folder for data and logs (default: a new one, deleted after success).")
  var dataDir: String?
  @Option(help: "Seconds between progress lines when the output is no terminal.")
  var progressSeconds = 10
  @Option(
    help: ArgumentHelp(
      "Falsify one delivery, to test the verifier: drop-delivery, double-delivery",
      visibility: .hidden))
  var tamper: Tamper?
  @OptionGroup(title: "Report") var report: ReportOptions

  /// Gateways have the addresses 127.1.0.1 to 127.1.4.250, clients others.
  static let gatewaysMax = 250

  func validate() throws {
    try checkRange("--widgets", widgets, 100...4_000_000)
    try checkRange("--step", step, 0...4_000_000)
    try checkRange("--gateways", gateways, 0...Million.gatewaysMax)
    try checkRange("--processes", processes, 0...Million.gatewaysMax)
    try checkRange("--loops", loops, 1...8)
    try checkRate(rate, max: 1_000_000)
    try checkRange("--speaks-every", speaksEvery, 2...1_000_000)
    try checkRange("--messages", messages, 1...100)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--seconds", seconds, 1...3_600)
    try checkRange("--rest-seconds", restSeconds, 1...3_600)
    try checkRange("--settle-seconds", settleSeconds, 0...3_600)
    try checkRange("--floor-mebibytes", floorMebibytes, 256...1_048_576)
    try checkRange("--progress-seconds", progressSeconds, 1...3_600)
    guard plan.gateways <= Million.gatewaysMax, plan.processes <= Million.gatewaysMax else {
      throw ValidationError("--widgets needs more than \(Million.gatewaysMax) processes of a kind")
    }
    guard tamper == nil || tamper == .dropDelivery || tamper == .doubleDelivery else {
      throw ValidationError("--tamper must be drop-delivery or double-delivery")
    }
  }

  var plan: MillionPlan {
    MillionPlan(
      widgets: widgets, step: min(widgets, step == 0 ? max(1, widgets / 10) : step),
      speaksEvery: speaksEvery, gateways: gateways, processes: processes)
  }

  func run() throws {
    try report.run { try MillionRun(self).measure().show() }
  }
}
