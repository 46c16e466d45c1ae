/// The arithmetic of `million`: how many processes, on which addresses, in which steps, and whether
/// the next step fits into memory. Pure.
import Foundation
import Kernel

struct MillionPlan: Equatable {
  /// Widgets of a process, so that it stays below the limit of descriptors, which also counts its
  /// own files and its connections to PostgreSQL.
  static let connectionsMax = 19_900
  /// A gateway keeps some 250 descriptors for itself (`Gateway.ownDescriptors`).
  static let gatewayConnectionsMax = 19_700

  /// Connections held after each step, including the speakers', without the second tabs.
  let sizes: [Int]
  /// One widget in so many speaks.
  let speaksEvery: Int
  let gateways: Int
  /// Processes of silent widgets; one more has the speakers.
  let processes: Int

  init(widgets: Int, step: Int, speaksEvery: Int, gateways: Int = 0, processes: Int = 0) {
    precondition(widgets > 0 && step > 0 && speaksEvery > 0, "a plan has widgets")
    sizes = Array(stride(from: step, to: widgets, by: step)) + [widgets]
    self.speaksEvery = speaksEvery
    let speakers = MillionPlan.speakers(of: widgets, every: speaksEvery)
    // A speaker has a second tab, at another gateway.
    let least = MillionPlan.parts(widgets + speakers, of: MillionPlan.gatewayConnectionsMax)
    // Two, so that messages pass between gateways.
    self.gateways = max(2, gateways, least)
    self.processes = max(
      1, processes, MillionPlan.parts(widgets - speakers, of: MillionPlan.connectionsMax))
  }

  static func speakers(of widgets: Int, every: Int) -> Int { max(1, widgets / every) }

  func speakers(of size: Int) -> Int { MillionPlan.speakers(of: size, every: speaksEvery) }

  func silent(of size: Int) -> Int { size - speakers(of: size) }

  /// Silent widgets of one process after each step.
  func sizes(of process: Int) -> [Int] {
    sizes.map { MillionPlan.share(silent(of: $0), process, processes) }
  }

  /// An equal share of a total; the shares of all parts add up to it.
  static func share(_ total: Int, _ part: Int, _ parts: Int) -> Int {
    total * (part + 1) / parts - total * part / parts
  }

  private static func parts(_ total: Int, of size: Int) -> Int { (total + size - 1) / size }

  /// Hellos that wait in all gateways together. More would not open sooner on a busy machine: the
  /// database answers them all, and after 10 s a gateway sends a client away (4104).
  private static let openingsMax = 512

  /// The part of a process.
  var openingsOfProcess: Int { max(4, MillionPlan.openingsMax / processes) }

  /// 127.1.0.1, 127.1.0.2, …: a gateway's address. Clients connect from others of 127.0.0.0/8 (see
  /// `SourceAddresses`), each with 28,000 ports towards each gateway, so ports never run out.
  static func address(ofGateway number: Int) -> IPAddress {
    IPAddress(version4: 0x7F01_0000 + UInt32(number / 250) << 8 + UInt32(number % 250) + 1)
  }

  // MARK: Memory

  /// Assumed before the first step has measured it: two sockets, the session, the client, and a
  /// tenth more.
  static let bytesAssumed = 11_000

  /// Why `more` widgets do not fit above the floor; nil if they do.
  static func shortage(
    more: Int, bytesEach: Int, available: Int, floor: Int
  ) -> String? {
    let needed = more * max(bytesEach, 1)
    guard available - needed < floor else { return nil }
    return "memory: \(Format.bytes(Double(available))) are available, \(Format.count(more)) more "
      + "widgets need \(Format.bytes(Double(needed))), and \(Format.bytes(Double(floor))) stay "
      + "free (--floor-mebibytes)"
  }

  /// Why the run ends in the middle of a step; nil while there is room.
  static func alarm(available: Int, floor: Int) -> String? {
    guard available < floor else { return nil }
    return "memory: only \(Format.bytes(Double(available))) are available, less than the floor of "
      + "\(Format.bytes(Double(floor))) (--floor-mebibytes); the run ends before the machine "
      + "has none left"
  }
}

/// A straight line through points by least squares: `slope` is the cost of one more.
struct Slope: Equatable {
  var slope: Double
  var intercept: Double

  /// Nil for fewer than two different `x`.
  init?(_ points: [(x: Double, y: Double)]) {
    let count = Double(points.count)
    let meanX = points.reduce(0) { $0 + $1.x } / max(1, count)
    let meanY = points.reduce(0) { $0 + $1.y } / max(1, count)
    let spread = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
    guard spread > 0 else { return nil }
    slope = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) } / spread
    intercept = meanY - slope * meanX
  }
}
