/// What a workspace has set (the table `system_settings`, one JSON object for each key), with the
/// defaults of what it has not. Reading never fails: of a wrong member the default counts. Writing
/// is strict: `check` says what is wrong with a value before it is stored.
public struct WorkspaceSettings: Sendable, Equatable {
  public var widget = Widget()
  public var hours = Hours()
  /// What a bot says after a visitor's first message of a conversation.
  public var greetingMessage = BotMessage()
  /// What it says instead outside hours, or when nobody is available.
  public var awayMessage = BotMessage()
  public var prechat = Prechat()
  /// A form instead of a chat, outside hours.
  public var offline = BotMessage()
  public var queue = Queue()
  public var rating = Rating()

  public init() {}

  public enum Key: String, CaseIterable, Sendable {
    case widget, hours
    case greetingMessage = "greeting_message"
    case awayMessage = "away_message"
    case prechat, offline, queue, rating
  }

  /// How the widget looks.
  public struct Widget: Sendable, Equatable {
    /// Nil: the workspace's own name.
    public var name: String?
    /// `#rrggbb`; nil: the widget's own.
    public var accent: String?
    /// A language tag, or `auto`: the page's.
    public var locale = "auto"
    public var theme = "auto"
    public var position = "right"
    public var greeting: Greeting?
    /// Operators see what the visitor is typing.
    public var preview = true
    public var sound = true
    public var teaser = true
  }

  public struct Greeting: Sendable, Equatable {
    public var title = ""
    public var text = ""
  }

  public struct Hours: Sendable, Equatable {
    public var always = true
    /// A name that PostgreSQL knows, such as `Europe/Berlin`.
    public var timeZone = "UTC"
    public var days: [Opening] = []
    /// Days on which nobody is there, `2026-12-25`.
    public var holidays: [String] = []
  }

  /// A span of a weekday in the workspace's time zone. One that ends before it begins ends on the
  /// next day.
  public struct Opening: Sendable, Equatable {
    /// 1 is Monday (ISO 8601).
    public var day: Int
    /// Minutes since midnight.
    public var from: Int
    public var to: Int
  }

  public struct BotMessage: Sendable, Equatable {
    public var isEnabled = false
    public var text = ""
  }

  /// What the widget asks before the first message.
  public struct Prechat: Sendable, Equatable {
    public var isEnabled = false
    public var fields: [Field] = []

    public struct Field: Sendable, Equatable {
      /// `name`, `email`, or an attribute's name.
      public var key: String
      public var label: String
      /// `text`, `email` or `select`.
      public var type = "text"
      public var isRequired = false
      /// Of a `select`.
      public var options: [String] = []
    }
  }

  public struct Queue: Sendable, Equatable {
    /// Conversations that one operator may have at once.
    public var capacity = 5
    /// `off`, or `least_busy`.
    public var assign = "off"
    /// How long an operator may be gone before the conversations go back to the queue; 0: for ever.
    public var reassignAfterSeconds = 60
    /// The visitor is told the place in the queue.
    public var showsPosition = true
  }

  public struct Rating: Sendable, Equatable {
    public var isEnabled = true
    /// Nil: the widget's own question.
    public var question: String?
  }
}

/// The bounds of what may be set.
public enum SettingLimits {
  public static let nameBytes = 200
  public static let localeBytes = 35
  public static let greetingTitleBytes = 1_024
  public static let textBytes = 4_096
  public static let zoneBytes = 64
  public static let openings = 42
  public static let holidays = 400
  public static let fields = 12
  public static let fieldKeyBytes = 64
  public static let labelBytes = 200
  public static let options = 50
  /// Bytes of one stored setting that are looked at.
  public static let valueBytes = 65_536
}
