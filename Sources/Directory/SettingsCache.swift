public import Primitives

/// A cache of workspaces' settings. A change on another gateway takes effect after `secondsMax` at
/// the latest, a change on this one at once (`forget`).
public struct SettingsCache: Sendable {
  public struct Entry: Sendable {
    public var settings: WorkspaceSettings
    public var businessHours: BusinessHours

    public init(settings: WorkspaceSettings, businessHours: BusinessHours) {
      self.settings = settings
      self.businessHours = businessHours
    }
  }

  public static let secondsMax: Int64 = 2
  /// Cached workspaces: a few kilobytes each.
  public static let entriesMax = 1_024

  private var entries: [Identifier: (entry: Entry, at: WallTime)] = [:]
  /// The number of changes on this gateway. Settings that were read before a change may be stale.
  public private(set) var changes: UInt64 = 0

  public init() {}

  public var count: Int { entries.count }

  public func find(_ workspace: Identifier, now: WallTime) -> Entry? {
    guard let found = entries[workspace], isFresh(found.at, now) else { return nil }
    return found.entry
  }

  /// - Parameter changes: the value of `changes` before the entry was read.
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

  /// An entry from the future (the clock was set back) is not fresh.
  private func isFresh(_ at: WallTime, _ now: WallTime) -> Bool {
    (0..<SettingsCache.secondsMax * 1_000_000).contains(now.microseconds - at.microseconds)
  }
}
