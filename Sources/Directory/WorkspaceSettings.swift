/// The settings of a workspace with their defaults (the table `system_settings`: one JSON value for
/// each key). Reading never fails: an invalid member counts as its default. Writing is strict:
/// `check` describes what is invalid before a value is stored.
public struct WorkspaceSettings: Sendable, Equatable {
  public var widget = Widget()
  public var hours = Hours()
  /// The bot's reply to the first message of a conversation.
  public var greetingMessage = BotMessage()
  /// The reply instead, outside business hours or without an available operator.
  public var awayMessage = BotMessage()
  public var prechat = Prechat()
  /// A contact form instead of the chat, outside business hours.
  public var offline = BotMessage()
  public var queue = Queue()
  public var rating = Rating()
  public var retention = Retention()
  public var security = Security()
  public var routing = Routing()
  public var watching = Watching()
  public var attachments = Attachments()
  public var mail = Mail()

  public init() {}

  public enum Key: String, CaseIterable, Sendable {
    case widget, hours
    case greetingMessage = "greeting_message"
    case awayMessage = "away_message"
    case prechat, offline, queue, rating, retention, security, routing,
      watching, attachments, mail
  }

  /// The appearance of the widget.
  public struct Widget: Sendable, Equatable {
    /// Nil: the workspace's own name.
    public var name: String?
    /// `#rrggbb`; nil: the widget's default.
    public var accent: String?
    /// A language tag, or `auto`: the language of the page.
    public var locale = "auto"
    public var theme = "auto"
    public var position = "right"
    public var greeting: Greeting?
    /// Operators see a preview of the visitor's typing.
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
    /// Closed days, such as `2026-12-25`.
    public var holidays: [String] = []
  }

  /// The business hours of a weekday in the workspace's time zone. If `to` is before `from`, they
  /// end on the next day.
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

  /// The form before the first message.
  public struct Prechat: Sendable, Equatable {
    public var isEnabled = false
    public var fields: [Field] = []

    public struct Field: Sendable, Equatable {
      /// `name`, `email`, or the name of an attribute.
      public var key: String
      public var label: String
      /// `text`, `email`, `select` or `team`.
      public var type = "text"
      public var isRequired = false
      /// Of a `select`.
      public var options: [String] = []

      /// A select of the workspace's teams.
      public static let teamType = "team"
    }
  }

  public struct Queue: Sendable, Equatable {
    /// The maximum number of open conversations of an operator.
    public var capacity = 5
    /// Automatic assignment: `off` or `least_busy`.
    public var assign = "off"
    /// The absence after which an operator's conversations return to the queue; 0: never.
    public var reassignAfterSeconds = 60
    /// The rest after which a conversation that an operator has is closed; 0: never.
    public var closeAfterMinutes = 60
    /// The widget shows the position in the queue.
    public var showsPosition = true
    /// Targets in minutes of business hours, see `Targets`; 0: none.
    public var firstResponseMinutes = 0
    public var resolutionMinutes = 0
  }

  public struct Retention: Sendable, Equatable {
    /// The days after which a deleted conversation is erased. `chirrup_deleted_days` reads it.
    public var deletedDays = 30
  }

  public struct Security: Sendable, Equatable {
    /// Members without a second factor must set one up at their next login.
    public var requiresSecondFactor = false
  }

  /// Which team gets a new conversation that neither its page nor its visitor gave to one.
  public struct Routing: Sendable, Equatable {
    /// The first one that matches counts.
    public var rules: [Rule] = []

    public struct Rule: Sendable, Equatable {
      /// The beginning of the page's path; empty: any page.
      public var page = ""
      /// A language tag; empty: any language. `de` matches `de-AT`.
      public var language = ""
      /// The id or name of the team, or `byLanguage`.
      public var team = ""

      /// In place of a team: the one that speaks the visitor's language. Without one the next rule
      /// that matches counts.
      public static let byLanguage = "*"
    }

    /// The teams of the rules that match a visitor on a page, in their order.
    ///
    /// - Parameters:
    ///   - page: an address as browsers have it.
    ///   - locale: a language tag.
    public func teams(page: String, locale: String) -> [String] {
      let path = Routing.path(of: page)
      let language = locale.lowercased()
      return rules.filter { rule in
        let wanted = rule.language.lowercased()
        return path.hasPrefix(rule.page)
          && (wanted.isEmpty || language == wanted || language.hasPrefix(wanted + "-"))
      }.map(\.team)
    }

    private static func path(of page: String) -> Substring {
      guard let scheme = page.firstRange(of: "://") else { return page[...] }
      let rest = page[scheme.upperBound...]
      return rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
    }
  }

  /// Operators see who is on the site, and the widget shows proactive messages. Off by default:
  /// pages send more than a chat needs.
  public struct Watching: Sendable, Equatable {
    public var isEnabled = false
  }

  /// Files that visitors and operators send.
  public struct Attachments: Sendable, Equatable {
    public var isEnabled = true
    /// Of one file.
    public var bytesMax = 20 * 1_048_576
    /// The kinds of files, of `kinds`.
    public var types = Attachments.kinds
    /// Of all files of the workspace.
    public var totalBytes = 5 * 1_073_741_824

    public static let kinds = ["images", "pdf", "text", "office", "audio", "video", "archives"]
  }

  /// Outgoing e-mail. Nothing is sent unless the gateway has a mail server.
  public struct Mail: Sendable, Equatable {
    /// Answers that a visitor with an address has not read are sent.
    public var sendsAnswers = true
    /// The seconds after the last answer until then. `chirrup_mail_quiet` reads both.
    public var answersAfterSeconds = 300
    /// Empty: the widget's name, or the workspace's.
    public var senderName = ""
    /// Empty: the gateway's.
    public var senderAddress = ""
    /// Empty: the sender.
    public var replyTo = ""
    /// Gets the messages of the offline form; empty: nobody.
    public var offlineTo = ""
    /// Learns of visitors who wait in the queue; empty: nobody. `chirrup_mail_alert` reads both.
    public var alertTo = ""
    /// The seconds for which a visitor waits before.
    public var alertAfterSeconds = 300
    /// Visitors may have the transcript sent to their address.
    public var sendsTranscripts = true

    /// Whether it is an address that any mail server accepts: printable ASCII without quotes (RFC
    /// 5321 §4.1.2), within the lengths of §4.5.3.1.
    public static func isAddress(_ text: String) -> Bool {
      let parts = text.split(separator: "@", omittingEmptySubsequences: false)
      return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && text.utf8.count <= 254
        && parts[0].utf8.count <= 64
        && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"<>()[],;:\\\"".utf8.contains($0) }
    }
  }

  public struct Rating: Sendable, Equatable {
    public var isEnabled = true
    /// Nil: the widget's default question.
    public var question: String?
  }
}

/// The limits of settings.
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
  public static let routingRules = 50
  /// Of a target: 30 days of business hours.
  public static let targetMinutes = 43_200
  public static let pathBytes = 200
  /// Bytes of one attachment: 100 MiB.
  public static let attachmentBytes = 104_857_600
  /// Bytes of all attachments of a workspace: 1 PiB.
  public static let attachmentTotalBytes = 1_125_899_906_842_624
  public static let addressBytes = 254
  /// Bytes of one stored setting; a longer one counts as missing.
  public static let valueBytes = 65_536
}
