import Primitives

/// A closed set of names, as in the protocol and in the database.
public protocol Named: CaseIterable {
  var text: StaticString { get }
}

extension Named {
  public init?(text: RawSpan) {
    for name in Self.allCases where text.equals(name.text) {
      self = name
      return
    }
    return nil
  }
}
