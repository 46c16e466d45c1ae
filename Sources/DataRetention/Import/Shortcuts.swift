/// Shortcuts of canned replies from their titles: `Order status` is `order-status`. Equal ones get
/// a number.
struct Shortcuts {
  private static let length = 32
  /// Characters for the number of an equal one.
  private static let numberLength = 5

  private var taken: Set<String> = []

  mutating func shortcut(_ title: String) -> String {
    let words = title.lowercased().split { $0.isWhitespace || $0 == "/" }.joined(separator: "-")
    let base = words.isEmpty ? "reply" : words
    var shortcut = base.cut(scalars: Self.length)
    var number = 2
    while !taken.insert(shortcut).inserted {
      shortcut = base.cut(scalars: Self.length - Self.numberLength - 1) + "-\(number)"
      number += 1
    }
    return shortcut
  }
}
