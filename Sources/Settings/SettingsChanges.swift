/// The difference between the settings of a running gateway and its configuration as read again.

/// One changed setting.
public struct SettingChange: Sendable, Equatable {
  public var key: SettingKey
  /// The values as in the YAML file; nil for a secret, which no report contains.
  public var before: String?
  public var after: String?
}

public struct SettingsChanges: Sendable, Equatable {
  /// Settings that a running gateway takes over.
  public var applied: [SettingChange] = []
  /// Settings that are used after a restart only.
  public var waiting: [SettingChange] = []

  public init() {}
}

extension Settings {
  /// Takes over the settings that a running gateway can change. The others keep the value with
  /// which the process started, so that each later comparison names them again.
  ///
  /// - Parameter new: the configuration as read again.
  public mutating func takeOver(_ new: Settings) -> SettingsChanges {
    var changes = SettingsChanges()
    for key in SettingKey.allCases where key.property.text(self) != key.property.text(new) {
      let isSecret = key.isSecret
      let change = SettingChange(
        key: key, before: isSecret ? nil : key.property.text(self),
        after: isSecret ? nil : key.property.text(new))
      if waitsForRestart(key, new) {
        changes.waiting.append(change)
      } else {
        changes.applied.append(change)
        take(key, from: new)
      }
    }
    return changes
  }

  public mutating func take(_ key: SettingKey, from new: Settings) { key.property.copy(new, &self) }

  /// A running gateway cannot start or leave its private PostgreSQL.
  private func waitsForRestart(_ key: SettingKey, _ new: Settings) -> Bool {
    !key.isReloadable
      || key == .databaseURL && (databaseURL == nil) != (new.databaseURL == nil)
  }
}
