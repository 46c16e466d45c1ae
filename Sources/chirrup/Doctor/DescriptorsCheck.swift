/// Whether the system lets the gateway open as many descriptors as its connections need.
import Gateway
import Kernel
import Settings

extension DoctorCheck {
  static let descriptors = DoctorCheck(
    name: "descriptors",
    symptom: "the log says “at most N connections”; clients get 503 below limits.connections",
    remedy: "raise the limit (ulimit -n, or LimitNOFILE in the systemd unit), or lower "
      + "limits.connections"
  ) { examination in
    let process = examination.facts.process
    let limit = process.flatMap(DescriptorFigures.limit) ?? DescriptorLimit.most
    let own = Gateway.ownDescriptors(examination.settings)
    let needed = own + examination.settings.limits.connections
    let subject = process.map { "the gateway (process \($0))" } ?? "a process started here"
    let text = "\(subject) may open \(limit) descriptors; limits.connections needs \(needed)"
    if limit < own + Gateway.connectionsLeast {
      return .failure(text + ", and the gateway does not start with so few")
    }
    return limit < needed ? .warning(text) : .ok(text)
  }
}

enum DescriptorFigures {
  /// The limit of another process: `Max open files            1024  524288  files`.
  static func limit(of process: Int32) -> Int? {
    guard let table = kernelText("/proc/\(process)/limits"),
      let line = table.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") })
    else { return nil }
    return line.split(separator: " ").dropFirst(3).first.flatMap { Int($0) }
  }
}
