import ArgumentParser

/// `chirrup-simulate`: the production engines, batches and failure handling with a simulated
/// PostgreSQL, network and clients, in virtual time.
@main
struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup-simulate",
    abstract: "Simulates the gateway under faults and checks the promises of its protocol.",
    discussion: """
      A violation prints its seed, and the same seed repeats the same run: SEED=… in the \
      environment replays one.
      """)

  @Option(help: "The first seed.") var first: UInt64 = 1
  @Option(help: "The number of seeds.") var seeds: UInt64 = 500
  @Option(help: "Insert the bug with this name, and expect a violation.") var bug: String?
  @Flag(help: "Insert each bug in turn; each must be found within the seeds.") var bugs = false

  @Flag(help: "With SEED: log every event.") var log = false

  func run() throws {
    if let text = Environment.seed { return try replay(text) }
    if bugs { return try findBugs() }
    let chosen = try chosenBug()
    var tally = Tally()
    for seed in first..<(first + seeds) {
      let run = Run(seed: seed, bug: chosen)
      let violation = run.play()
      tally.add(run)
      if let violation {
        print("seed \(seed): \(violation)")
        if chosen != nil { return }
        throw ExitCode.failure
      }
      if (seed - first + 1) % 1_000 == 0 { print("\(seed - first + 1) seeds: \(tally)") }
    }
    print("\(seeds) seeds, no violation: \(tally)")
    if let chosen {
      print("the bug \(chosen.rawValue) was not found")
      throw ExitCode.failure
    }
  }

  private func chosenBug() throws -> Bug? {
    guard let bug else { return nil }
    guard let known = Bug(rawValue: bug) else {
      throw ValidationError(
        "unknown bug; the known ones are \(Bug.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return known
  }

  private func replay(_ text: String) throws {
    guard let seed = UInt64(text) else {
      throw ValidationError("SEED must be a number, not \(text)")
    }
    let run = Run(seed: seed, bug: try chosenBug(), isLogged: log)
    if let violation = run.play() {
      print("seed \(seed): \(violation)")
      throw ExitCode.failure
    }
    var tally = Tally()
    tally.add(run)
    print("seed \(seed): no violation: \(tally)")
  }

  /// Checks that every bug leads to a violation.
  private func findBugs() throws {
    var missed: [String] = []
    for bug in Bug.allCases {
      var found: (seed: UInt64, violation: String)?
      for seed in first..<(first + seeds) {
        if let violation = Run(seed: seed, bug: bug).play() {
          found = (seed, violation)
          break
        }
      }
      if let found {
        print("\(bug.rawValue): found by seed \(found.seed): \(found.violation.prefix(140))")
      } else {
        print("\(bug.rawValue): NOT FOUND in \(seeds) seeds")
        missed.append(bug.rawValue)
      }
    }
    if !missed.isEmpty { throw ExitCode.failure }
  }
}

/// The totals of all runs.
struct Tally: CustomStringConvertible {
  private var committed = 0
  private var acked = 0
  private var received = 0
  private var evictions: UInt64 = 0
  private var fenced = 0
  private var refusals = 0
  private var steps = 0
  private var seconds = 0.0

  mutating func add(_ run: Run) {
    committed += run.checker.committedCount
    acked += run.checker.ackedCount
    received += run.checker.receivedCount
    evictions += run.evictions
    fenced += run.postgres.fencedCount
    refusals += run.postgres.fenceRefusals
    steps += run.agenda.steps
    seconds += Double(run.agenda.microseconds) / 1_000_000
  }

  var description: String {
    "\(committed) committed, \(acked) acked, \(received) received, \(evictions) evicted, "
      + "\(fenced) batches fenced, \(refusals) refused by the fence, \(steps) steps, "
      + "\(Int(seconds)) s of virtual time"
  }
}
