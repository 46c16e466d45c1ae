/// What the parent of a crew and its members tell each other.
import Histogram
import Primitives

/// Everything a member needs: its clients, and what to do with them.
struct CrewWork: Sendable, Codable {
  var plan: LoadPlan
  /// One for each thread.
  var casts: [Cast] = []
  var course: Course
  /// Where the member compares its sessions with what is stored.
  var databaseURL: String?
  /// A lie that one loop tells itself, see `Tamper`.
  var tamper: Tamper?
}

enum Course: Sendable, Codable {
  case chat
  case storm(StormCourse)
  case slow(SlowCourse)
  case growth(GrowthCourse)
  case idle(IdleCourse)
}

enum CrewOrder: Sendable, Codable {
  case work(CrewWork)
  /// The next step is taken at this moment of the monotonic clock, which all processes share.
  case take(nanoseconds: Int64)
  /// The end of the load; what is in flight is still awaited.
  case stop
  /// The result has come: the member may go.
  case leave
}

enum CrewNews: Sendable, Codable {
  /// How many steps its loops have reached, how it goes, and the latencies since the last news.
  case progress(steps: Int, Shared.Snapshot, [String: Histogram<UInt64>])
  case result(LoopResult)
  case failed(String)
}

extension Identifier: Codable {
  init(from decoder: any Decoder) throws {
    let field = try decoder.singleValueContainer()
    guard let id = Identifier(try field.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: field, debugDescription: "not a UUID")
    }
    self = id
  }

  func encode(to encoder: any Encoder) throws {
    var field = encoder.singleValueContainer()
    var text: [UInt8] = []
    appendText(to: &text)
    try field.encode(String(decoding: text, as: UTF8.self))
  }
}
