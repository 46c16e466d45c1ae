/// The noise of two runs, estimated from the variation of the seconds (or rounds) within each.
import Foundation

struct Noise {
  /// Fewer samples give no estimate.
  private static let samplesMin = 5

  /// The factor within which the ratio of the two means lies by chance with 95 % probability; nil
  /// with too few samples, or with samples not above 0.
  ///
  /// Computed from logarithms, because half and double are equally far from equal. Autocorrelated
  /// seconds count as fewer samples.
  static func factor(_ one: [Double], _ other: [Double]) -> Double? {
    guard let first = errorSquared(one), let second = errorSquared(other) else { return nil }
    return exp(2 * (first + second).squareRoot())
  }

  /// The squared standard error of the mean of the logarithms.
  private static func errorSquared(_ samples: [Double]) -> Double? {
    guard samples.count >= samplesMin, samples.allSatisfy({ $0 > 0 && $0.isFinite }) else {
      return nil
    }
    let logs = samples.map { log($0) }
    let count = Double(logs.count)
    let mean = logs.reduce(0, +) / count
    let deviations = logs.map { $0 - mean }
    let variance = deviations.reduce(0) { $0 + $1 * $1 } / (count - 1)
    guard variance > 0 else { return 0 }
    // Autocorrelation at lag 1, at least 0.
    let alike =
      zip(deviations, deviations.dropFirst()).reduce(0) { $0 + $1.0 * $1.1 }
      / (variance * (count - 1))
    let correlation = min(0.95, max(0, alike))
    let effective = max(1, count * (1 - correlation) / (1 + correlation))
    return variance / effective
  }
}

extension RunRecord {
  /// The figure's value in each second, or in each round.
  func samples(of figure: String) -> [Double] {
    if !rounds.isEmpty { return rounds.compactMap { $0[figure] } }
    if let column = series.columns[figure] { return column.compactMap { $0 } }
    switch figure {
    case "gateway_cpu_us_per_message": return quotients("gateway_cores", "acked_per_second")
    case "gateway_cpu_us_per_delivery": return quotients("gateway_cores", "delivered_per_second")
    default: return []
    }
  }

  /// Cores divided by a rate, in microseconds.
  private func quotients(_ cores: String, _ rate: String) -> [Double] {
    zip(series.columns[cores] ?? [], series.columns[rate] ?? []).compactMap { cores, rate in
      guard let cores, let rate, rate > 0, cores > 0 else { return nil }
      return cores * 1e6 / rate
    }
  }
}
