/// The business hours of `chirrup setup --hours`: `always`, or days and times such as
/// `Mon-Fri 09:00-17:00, Sat 10:00-14:00`.
import Directory
import JSON
import Primitives

struct OpeningHours {
  private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  /// Weekday (1 is Monday), opening and closing time; empty: always open.
  private(set) var openings: [(day: Int, from: String, to: String)] = []

  /// Nil if the text is not of this form.
  init?(_ text: String) {
    guard text.lowercased() != "always" else { return }
    for part in text.split(separator: ",") {
      let words = part.split(separator: " ")
      guard words.count == 2, let days = OpeningHours.days(words[0].lowercased())
      else { return nil }
      let times = words[1].split(separator: "-").map { String($0) }
      guard times.count == 2 else { return nil }
      openings += days.map { ($0, times[0], times[1]) }
    }
    guard !openings.isEmpty else { return nil }
  }

  /// `mon` or `mon-fri`.
  private static func days(_ text: String) -> ClosedRange<Int>? {
    let ends = text.split(separator: "-").map { days.firstIndex(of: String($0)) }
    guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
      first <= last
    else { return nil }
    return first + 1...last + 1
  }

  /// The setting `hours`.
  func setting(timeZone: String) -> JSONValue {
    .object([
      "always": .bool(openings.isEmpty), "time_zone": .string(timeZone), "holidays": .array([]),
      "days": .array(
        openings.map { opening in
          .object([
            "day": .int(opening.day), "from": .string(opening.from), "to": .string(opening.to),
          ])
        }),
    ])
  }
}
