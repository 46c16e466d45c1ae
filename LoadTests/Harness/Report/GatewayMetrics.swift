/// The gateway's `/metrics`, and a thread that reads them twice a second.
import Foundation
import Kernel
import Primitives
import Synchronization

enum MetricsFailure: Error, CustomStringConvertible {
  case noMetrics(String)

  var description: String {
    switch self {
    case .noMetrics(let why): "the gateway's /metrics cannot be read: \(why)"
    }
  }
}

struct GatewayMetrics: Sendable, Equatable {
  var committed = 0
  var batches = 0
  var loops = 0
  /// Loops with a connection to PostgreSQL.
  var loopsReady = 0
  var connections = 0
  /// Connections closed with 4101.
  var slowConsumers = 0
  /// Cumulative counts of batches by their largest number of messages, as in Prometheus; empty if
  /// the gateway does not report them.
  var batchesUpTo: [Int: Int] = [:]

  init(text: String) {
    for line in text.split(separator: "\n") where line.hasPrefix("chirrup_") {
      guard let value = line.split(separator: " ").last.flatMap({ Int($0) }) else { continue }
      switch line.dropFirst(8).prefix(while: { $0 != "{" && $0 != " " }) {
      case "committed_total": committed += value
      case "batches_total": batches += value
      case "connections": connections += value
      case "slow_consumers_total": slowConsumers += value
      case "up":
        loops += 1
        loopsReady += value
      case "batch_messages_bucket":
        guard let match = line.firstMatch(of: /le="(\d+)"/), let limit = Int(match.1) else {
          continue
        }
        batchesUpTo[limit, default: 0] += value
      default: break
      }
    }
  }

  /// - Throws: also when no complete answer arrives in time.
  static func read(_ target: Target, milliseconds: Int64 = 5_000) throws -> GatewayMetrics {
    let answer = try HTTPProbe.get(target, path: "/metrics", milliseconds: milliseconds)
    let metrics = GatewayMetrics(text: String(decoding: answer, as: UTF8.self))
    guard metrics.loops > 0 else {
      throw MetricsFailure.noMetrics(
        "chirrup_up is missing; start the gateway with --admin-listen listen")
    }
    return metrics
  }
}

/// Reads on its own thread, so that a stalled gateway does not stall the view. Keeps the last
/// answer and the observed outages.
final class MetricsWatch: Sendable {
  enum Condition: Sendable, Equatable { case well, storeAway, silent }

  struct Outage: Sendable {
    var condition: Condition
    var began: Instant
    var ended: Instant?
  }

  private struct State {
    var latest: GatewayMetrics?
    var outages: [Outage] = []
    var isOver = false
  }

  private static let pauseMilliseconds = 500
  private static let answerMilliseconds: Int64 = 1_500
  private static let outagesMax = 500
  private let state = Mutex(State())

  /// Nil over TLS, and when the first request is not answered.
  static func start(_ target: Target?) -> MetricsWatch? {
    guard let target, !target.isSecure, let first = try? GatewayMetrics.read(target) else {
      return nil
    }
    let watch = MetricsWatch()
    watch.note(first)
    do {
      // Not joined: it ends within seconds after `stop`, or with the process.
      _ = try Thread.spawn(name: "metrics") {
        while !watch.state.withLock({ $0.isOver }) {
          usleep(UInt32(pauseMilliseconds * 1000))
          watch.note(try? GatewayMetrics.read(target, milliseconds: answerMilliseconds))
        }
      }
    } catch {
      return nil
    }
    return watch
  }

  func stop() { state.withLock { $0.isOver = true } }

  var latest: GatewayMetrics? { state.withLock { $0.latest } }

  var outages: [Outage] { state.withLock { $0.outages } }

  private func note(_ metrics: GatewayMetrics?) {
    let now = SystemClock.now()
    let condition: Condition =
      metrics.map { $0.loopsReady == $0.loops ? .well : .storeAway } ?? .silent
    state.withLock { state in
      if let metrics { state.latest = metrics }
      let open = state.outages.indices.last.flatMap { state.outages[$0].ended == nil ? $0 : nil }
      if let open, state.outages[open].condition == condition { return }
      if let open { state.outages[open].ended = now }
      if condition != .well, state.outages.count < MetricsWatch.outagesMax {
        state.outages.append(Outage(condition: condition, began: now))
      }
    }
  }
}
