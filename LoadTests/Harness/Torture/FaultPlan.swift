/// The faults of each cycle of a torture, with their times, as a function of the seed, so that a
/// run can be repeated.
///
/// Kinds are shuffled: none repeats before all have occurred.
import Primitives

enum FaultKind: String, CaseIterable, Sendable {
  case killGateway = "kill -9 gateway"
  case drainGateway = "SIGTERM gateway"
  case killBackend = "kill -9 backend"
  case terminateBackends = "terminate backends"
  case stopDatabase = "stop PostgreSQL immediately"
  case freezeDatabase = "SIGSTOP PostgreSQL"
  case cutClients = "cut clients"
  case resetClients = "reset clients"
  case stallClients = "stall clients"
  case delayClients = "delay clients"
  case throttleClients = "throttle clients"
  case cutDatabase = "cut database"
  case resetDatabase = "reset database"
  case stallDatabase = "stall database"
  case throttleDatabase = "throttle database"
  case cutBatch = "cut database inside a batch"
  case loseCommit = "lose COMMIT's answer"

  /// The part of the system that a fault affects; simultaneous faults affect different parts.
  enum Organ: Sendable { case gateway, server, clientWire, databaseWire }

  var organ: Organ {
    switch self {
    case .killGateway, .drainGateway: .gateway
    case .killBackend, .terminateBackends, .stopDatabase, .freezeDatabase: .server
    case .cutClients, .resetClients, .stallClients, .delayClients, .throttleClients: .clientWire
    case .cutDatabase, .resetDatabase, .stallDatabase, .throttleDatabase, .cutBatch, .loseCommit:
      .databaseWire
    }
  }

  /// Range of its duration in milliseconds.
  fileprivate var span: ClosedRange<Int64> {
    switch self {
    case .killGateway, .drainGateway: 0...600
    case .killBackend, .terminateBackends, .cutClients, .resetClients, .cutDatabase,
      .resetDatabase:
      0...0
    case .stopDatabase, .freezeDatabase, .stallDatabase: 200...2_000
    case .stallClients, .delayClients, .throttleClients, .throttleDatabase: 300...2_500
    case .cutBatch, .loseCommit: 300...800
    }
  }

  /// Whether it may last longer than the gateway lets sends wait for the database.
  fileprivate var mayBeLong: Bool {
    self == .stopDatabase || self == .freezeDatabase || self == .stallDatabase
  }
}

struct Fault: Equatable, Sendable {
  var kind: FaultKind
  /// Milliseconds from the start of the cycle, and its duration.
  var at: Int64
  var lasts: Int64
  /// The share of the affected connections; at least one is affected.
  var share: Double
  /// Bytes until a cut, or bytes per second.
  var bytes: Int

  var ends: Int64 { at + lasts }
}

struct FaultPlan: Sendable {
  let seed: UInt64
  let kinds: [FaultKind]

  static let momentRange: ClosedRange<Int64> = 200...1_200
  static let longRange: ClosedRange<Int64> = 5_200...6_500
  static let longShare = 0.08
  static let pairShare = 0.3

  /// These occur first, so that even a short run includes them.
  private static let first: [FaultKind] = [.killGateway, .stopDatabase, .loseCommit]

  init(seed: UInt64, kinds: [FaultKind] = FaultKind.allCases) {
    precondition(!kinds.isEmpty, "a plan needs faults")
    self.seed = seed
    self.kinds = kinds
  }

  /// The faults of cycle `number`, counted from 0, in the order of their start.
  func cycle(_ number: Int) -> [Fault] {
    var random = RandomStream(seed: seed &+ UInt64(number) &* 0x9E37_79B9)
    let first = fault(
      kind(number), at: Int64.random(in: FaultPlan.momentRange, using: &random), &random)
    let others = kinds.filter { $0.organ != first.kind.organ }
    guard let other = others.randomElement(using: &random),
      Double.random(in: 0..<1, using: &random) < FaultPlan.pairShare
    else { return [first] }
    let later = first.at + Int64.random(in: 0...max(first.lasts, 400), using: &random)
    return [first, fault(other, at: later, &random)]
  }

  private func kind(_ number: Int) -> FaultKind {
    let round = number / kinds.count
    var random = RandomStream(seed: seed &* 31 &+ UInt64(round))
    var deck = kinds.shuffled(using: &random)
    if round == 0 {
      let begin = FaultPlan.first.filter(kinds.contains).shuffled(using: &random)
      deck = begin + deck.filter { !begin.contains($0) }
    }
    return deck[number % kinds.count]
  }

  private func fault(_ kind: FaultKind, at: Int64, _ random: inout RandomStream) -> Fault {
    var lasts = Int64.random(in: kind.span, using: &random)
    if kind.mayBeLong, Double.random(in: 0..<1, using: &random) < FaultPlan.longShare {
      lasts = Int64.random(in: FaultPlan.longRange, using: &random)
    }
    let isPace = kind == .throttleClients || kind == .throttleDatabase
    return Fault(
      kind: kind, at: at, lasts: lasts, share: Double.random(in: 0.1...1, using: &random),
      bytes: Int.random(in: isPace ? 4_000...60_000 : 1...20_000, using: &random))
  }
}
