public import Primitives

/// The settings of the workspaces that were asked for lately, each for a moment: a change made on
/// another node counts after `secondsMax` at the latest, one made on this node at once (`forget`).
public struct SettingsCache: Sendable {
  public struct Entry: Sendable {
    public var settings: WorkspaceSettings
    public var schedule: Schedule

    public init(settings: WorkspaceSettings, schedule: Schedule) {
      self.settings = settings
      self.schedule = schedule
    }
  }

  public static let secondsMax: Int64 = 2
  /// Workspaces that are remembered: a few kilobytes each.
  public static let entriesMax = 1_024

  private var entries: [Identifier: (entry: Entry, at: WallTime)] = [:]
  /// Changes that were made here. What was read before one may be from before it.
  public private(set) var changes: UInt64 = 0

  public init() {}

  public var count: Int { entries.count }

  public func find(_ workspace: Identifier, now: WallTime) -> Entry? {
    guard let found = entries[workspace], isFresh(found.at, now) else { return nil }
    return found.entry
  }

  /// - Parameter changes: as they were before it was read.
  public mutating func keep(
    _ entry: Entry, of workspace: Identifier, now: WallTime, asOf changes: UInt64
  ) {
    guard changes == self.changes else { return }
    if entries.count >= SettingsCache.entriesMax, entries[workspace] == nil {
      entries = entries.filter { isFresh($0.value.at, now) }
      if entries.count >= SettingsCache.entriesMax { entries.removeAll(keepingCapacity: true) }
    }
    entries[workspace] = (entry, now)
  }

  public mutating func forget(_ workspace: Identifier) {
    entries[workspace] = nil
    changes &+= 1
  }

  /// A clock that was set back makes nothing fresh for longer.
  private func isFresh(_ at: WallTime, _ now: WallTime) -> Bool {
    (0..<SettingsCache.secondsMax * 1_000_000).contains(now.microseconds - at.microseconds)
  }
}
