import ArgumentParser

/// `chirrup-simulate`: the production engines, batches and failure table on a simulated PostgreSQL,
/// network and clients, under one seed and virtual time.
@main
struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup-simulate",
    abstract: "Plays bad days by their seeds and looks for broken promises.",
    discussion: """
      A violation prints its seed; the same seed plays the same day again. SEED=… in the \
      environment replays one.
      """)

  @Option(help: "The first seed.") var first: UInt64 = 1
  @Option(help: "How many seeds.") var seeds: UInt64 = 500
  @Option(help: "Plant one bug, by its name, and expect a violation.") var bug: String?
  @Flag(help: "Plant every bug in turn; each must be found within the seeds.") var bugs = false

  @Flag(help: "With SEED: say everything that happens.") var tell = false

  func run() throws {
    if let text = Environment.seed { return try replay(text) }
    if bugs { return try findBugs() }
    let planted = try plantedBug()
    var tally = Tally()
    for seed in first..<(first + seeds) {
      let day = Run(seed: seed, bug: planted)
      let violation = day.play()
      tally.add(day)
      if let violation {
        print("seed \(seed): \(violation)")
        if planted != nil { return }
        throw ExitCode.failure
      }
      if (seed - first + 1) % 1_000 == 0 { print("\(seed - first + 1) seeds: \(tally)") }
    }
    print("\(seeds) seeds, no violation: \(tally)")
    if let planted {
      print("the bug \(planted.rawValue) was not found")
      throw ExitCode.failure
    }
  }

  private func plantedBug() throws -> Bug? {
    guard let bug else { return nil }
    guard let known = Bug(rawValue: bug) else {
      throw ValidationError(
        "no such bug; there are \(Bug.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return known
  }

  private func replay(_ text: String) throws {
    guard let seed = UInt64(text) else { throw ValidationError("SEED is a number, not \(text)") }
    let day = Run(seed: seed, bug: try plantedBug(), isTold: tell)
    if let violation = day.play() {
      print("seed \(seed): \(violation)")
      throw ExitCode.failure
    }
    var tally = Tally()
    tally.add(day)
    print("seed \(seed): no violation: \(tally)")
  }

  /// The checkers must bite.
  private func findBugs() throws {
    var blind: [String] = []
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
        blind.append(bug.rawValue)
      }
    }
    if !blind.isEmpty { throw ExitCode.failure }
  }
}

/// What was simulated, in all.
struct Tally: CustomStringConvertible {
  private var committed = 0
  private var acked = 0
  private var received = 0
  private var evictions: UInt64 = 0
  private var steps = 0
  private var seconds = 0.0

  mutating func add(_ run: Run) {
    committed += run.checker.committedCount
    acked += run.checker.ackedCount
    received += run.checker.receivedCount
    evictions += run.evictions
    steps += run.agenda.steps
    seconds += Double(run.agenda.microseconds) / 1_000_000
  }

  var description: String {
    "\(committed) committed, \(acked) acked, \(received) received, \(evictions) evicted, "
      + "\(steps) steps, \(Int(seconds)) s of virtual time"
  }
}
