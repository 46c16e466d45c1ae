/// The settings of a workspace as the handlers read them.
import Directory
import Postgres
import Primitives
import Synchronization

extension API {
  /// From memory if they were read a moment ago.
  func settings(
    of workspace: Identifier, now: WallTime
  ) async throws(Problem) -> SettingsCache.Entry {
    let (known, changes) = settingsCache.withLock { ($0.find(workspace, now: now), $0.changes) }
    if let known { return known }
    let settings = try await run(WorkspaceSettings.load(workspace))
    let entry = SettingsCache.Entry(
      settings: settings, schedule: try await schedule(settings.hours, now))
    settingsCache.withLock { $0.keep(entry, of: workspace, now: now, asOf: changes) }
    return entry
  }

  /// Whoever writes a setting says so, or this node answers by the old one for a moment, as the
  /// others do (`SettingsCache.secondsMax`).
  func settingsChanged(_ workspace: Identifier) {
    settingsCache.withLock { $0.forget(workspace) }
  }

  private func schedule(
    _ hours: WorkspaceSettings.Hours, _ now: WallTime
  ) async throws(Problem) -> Schedule {
    if hours.always { return Schedule(isAlwaysOpen: true) }
    do throws(QueryFailure) {
      return try await database.run(Schedule.statement(hours, at: now))
    } catch {
      guard case .refused(let state, _) = error, state.errorClass == "22" else {
        throw problem(for: error)
      }
    }
    // A zone that PostgreSQL does not know, in a table that somebody filled by hand.
    var plain = hours
    plain.timeZone = "UTC"
    return try await run(Schedule.statement(plain, at: now))
  }
}
