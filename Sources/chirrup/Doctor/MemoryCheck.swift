/// Whether this machine, or the control group of the gateway, has the memory that the limits of
/// the settings allow.
import Gateway
import Settings

extension DoctorCheck {
  static let memory = DoctorCheck(
    name: "memory", symptom: "the kernel kills the gateway under load",
    remedy: "lower limits.recent_mebibytes, limits.warm_sessions or limits.connections, or add "
      + "memory (MemoryMax in the systemd unit)"
  ) { examination in
    let process = examination.facts.process.map { "\($0)" } ?? "self"
    guard let available = MemoryFigures.available(to: process) else {
      return .skipped("the kernel does not say how much memory is available")
    }
    let needed = MemoryFigures.neededMebibytes(examination.settings)
    let text = "\(available) MiB are available, and the limits allow \(needed) MiB"
    return available < needed ? .warning(text) : .ok(text)
  }
}

enum MemoryFigures {
  /// The most that the settings allow, by the figures of config/chirrup.yaml.
  static func neededMebibytes(_ settings: Settings) -> Int {
    let isCompact = settings.tls.listen.isEmpty || settings.tls.compactRecords
    let connectionBytes = isCompact ? 1_024 : 13 * 1_024 + 512
    let handshakes = settings.tls.listen.isEmpty ? 0 : settings.limits.handshakes
    let sessions = settings.limits.warmSessions * Gateway.loopCount(settings)
    let bytes =
      settings.limits.connections * connectionBytes + handshakes * 45 * 1_024 + sessions * 1_024
    return settings.limits.recentMebibytes + bytes >> 20
  }

  /// MiB for a process: what is free on the machine, or in its control group (version 2) if that
  /// has less.
  static func available(to process: String) -> Int? {
    guard let table = kernelText("/proc/meminfo"),
      let line = table.split(separator: "\n").first(where: { $0.hasPrefix("MemAvailable:") }),
      let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return nil }
    var free = kibibytes >> 10
    if let group = kernelText("/proc/\(process)/cgroup")?.split(separator: "\n")
      .first(where: { $0.hasPrefix("0::") })?.dropFirst(3)
    {
      let folder = "/sys/fs/cgroup\(group)"
      if let limit = kernelText("\(folder)/memory.max").flatMap({ Int($0) }),
        let used = kernelText("\(folder)/memory.current").flatMap({ Int($0) })
      {
        free = min(free, max(0, limit - used) >> 20)
      }
    }
    // Memory that the gateway has already counts as available.
    let resident = kernelText("/proc/\(process)/statm")?.split(separator: " ").dropFirst().first
    return free + (resident.flatMap { Int($0) } ?? 0) * pageBytes >> 20
  }

  private static let pageBytes = 4_096
}
