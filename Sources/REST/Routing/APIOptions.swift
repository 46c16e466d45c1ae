/// What an administrator may choose about the REST API, and the bounds that nobody chooses.
import Chat
public import Directory
import OpenSSL
import Primitives
public import Webhooks

public struct APIOptions: Sendable {
  /// The origin under which browsers reach the gateway, for example `https://chat.example.com`;
  /// nil: as the Host header says.
  public var publicURL: String?
  /// Origins for a workspace that lists none of its own; `*` is any.
  public var allowedOrigins = ["*"]
  public var visitorTokenSeconds = 15 * 60
  public var operatorTokenSeconds = 60 * 60
  /// How long a login in a browser lasts.
  public var loginSeconds: Int64 = 7 * 86_400
  /// How long a visitor may stay away and still find the own conversation.
  public var refreshSeconds: Int64 = 90 * 86_400
  public var rates = Rates()
  /// Encrypts secrets of other services and of webhooks. Until a gateway sets its own, with a key
  /// that nobody has.
  public var secrets = SecretBox(configured: [], signingKey: SecureRandom.bytes(32))
  /// Where webhooks may lead.
  public var webhookGuard = AddressGuard()
  /// Told about failures that are ours, for the log. Never about a peer's mistakes, never with
  /// their texts.
  public var report: @Sendable (String) -> Void = { _ in }

  /// Called where a handler begins, and goes on after work on another thread; `API.currentRoute` is
  /// set.
  public var goesOn: @Sendable () -> Void = {}

  public init() {}

  /// So many at once and so many a minute, each for one address (or account); 0 is no limit.
  public struct Rate: Sendable {
    public var burst: Int
    public var perMinute: Int

    public init(burst: Int, perMinute: Int) {
      self.burst = burst
      self.perMinute = perMinute
    }

    var table: RateTable<String> { RateTable(burst: burst, perMinute: perMinute) }
  }

  public struct Rates: Sendable {
    public var loginsByAddress = Rate(burst: 20, perMinute: 20)
    public var loginsByEmail = Rate(burst: 10, perMinute: 6)
    public var widgetTokens = Rate(burst: 60, perMinute: 60)
    public var widgetConfigs = Rate(burst: 240, perMinute: 240)

    public init() {}
  }
}

enum APILimits {
  /// Bytes of a request's body.
  static let bodyBytes = 65_536
  /// Bytes of a request's path, decoded: a name of 50 characters of 4 bytes fits.
  static let pathBytes = 512
  /// Passwords that are checked at the same time; each takes 32 MiB and a core for some 250 ms.
  static let passwordThreads = 4
  /// Passwords that wait for one of these; whoever comes then is told to come again.
  static let passwordsWaiting = 12
  /// Rows of one page of conversations.
  static let conversations = 100
  static let conversationsDefault = 50
  static let messagesDefault = 50
  /// Rows of one page of any other list.
  static let list = 200
  static let listDefault = 100
  static let cursorBytes = 1_024
  /// Bytes of a search text.
  static let searchBytes = 200
  static let emailBytes = 320
  static let passwordBytes = 1_024
  static let nameBytes = 200
  static let secretBytes = 128
  static let originBytes = 255
  /// Why a conversation was transferred or closed.
  static let reasonBytes = 1_000
  /// Bytes of one text of a visitor's context, as it is kept.
  static let contextTextBytes = 2_048
  /// Bytes of a visitor's attributes in one request, of a name and of a text among them.
  static let attributesBytes = 8_192
  static let attributeNameBytes = 64
  static let attributeTextBytes = 512
  /// Characters of the comment with a rating, as the widget's field and the table count them.
  static let commentCharacters = 2_000
  static let commentBytes = 4 * commentCharacters
  /// Bytes of a transcript from which on it takes no further page.
  static let transcriptBytes = 1_048_576
}
