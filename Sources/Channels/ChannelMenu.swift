/// The published menu as a platform shows it, and the steps that bring the platform's copy up to
/// date.
public import HTTPClient
public import Primitives

public struct ChannelMenu: Sendable, Equatable {
  public var id: Identifier
  public var name: String
  /// A JSON array, as in `rich_menus.actions`.
  public var actions: [UInt8]
  /// Empty: there is none.
  public var imageURL: String

  public init(id: Identifier, name: String, actions: [UInt8], imageURL: String) {
    self.id = id
    self.name = name
    self.actions = actions
    self.imageURL = imageURL
  }
}

/// The URLs of a platform, without a slash at the end.
public struct MenuPlace: Sendable, Equatable {
  public var api: String
  /// Where it takes pictures.
  public var data: String

  public init(api: String, data: String) {
    self.api = api
    self.data = data
  }
}

/// One attempt to bring a platform's copy up to date. It can end after each step, because the next
/// attempt starts from the beginning and removes the rich menus that this one has left.
public protocol MenuSync: Sendable {
  /// - Parameter outcome: of the last step's request; nil: there was none.
  mutating func next(after outcome: HTTPOutcome?) -> MenuStep
}

public enum MenuStep: Sendable {
  /// A request to the platform.
  case request(HTTPRequest)
  /// A request to an address that a member has chosen.
  case fetch(HTTPRequest)
  case end(MenuEnd)
}

public enum MenuEnd: Sendable, Equatable {
  case done
  /// A repetition would fail too. `isClean`: the platform shows no other menu of ours.
  case failed(reason: String, isClean: Bool)
  /// To be tried again, in `seconds` at the earliest.
  case retry(reason: String, seconds: Int64)
}
