public import Postgres
public import Primitives
import Synchronization

/// The settings of workspaces, read through the cache of this gateway.
public final class CachedSettings: Sendable {
  private let database: any Database
  private let cache = Mutex(SettingsCache())

  public init(_ database: any Database) { self.database = database }

  public func of(
    _ workspace: Identifier, now: WallTime
  ) async throws(QueryFailure) -> SettingsCache.Entry {
    let (known, changes) = cache.withLock { ($0.find(workspace, now: now), $0.changes) }
    if let known { return known }
    let settings = try await database.run(WorkspaceSettings.load(workspace))
    let entry = SettingsCache.Entry(
      settings: settings, businessHours: try await businessHours(settings.hours, now))
    cache.withLock { $0.keep(entry, of: workspace, now: now, asOf: changes) }
    return entry
  }

  /// Call after writing a setting: this gateway uses it at once, the others after
  /// `SettingsCache.secondsMax`.
  public func forget(_ workspace: Identifier) {
    cache.withLock { $0.forget(workspace) }
  }

  private func businessHours(
    _ hours: WorkspaceSettings.Hours, _ now: WallTime
  ) async throws(QueryFailure) -> BusinessHours {
    if hours.always { return BusinessHours(isAlwaysOpen: true) }
    do throws(QueryFailure) {
      return try await database.run(BusinessHours.statement(hours, at: now))
    } catch {
      guard case .refused(let state, _) = error, state.errorClass == "22" else { throw error }
    }
    // An unknown time zone, in a table that was filled by hand.
    var plain = hours
    plain.timeZone = "UTC"
    return try await database.run(BusinessHours.statement(plain, at: now))
  }
}
