/// The channels that the gateway knows.
public enum Channels {
  public static let all: [any Channel] = [LineChannel(), TelegramChannel()]

  public static func named(_ name: String) -> (any Channel)? { all.first { $0.name == name } }
}
