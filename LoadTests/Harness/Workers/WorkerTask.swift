/// The messages between the parent and its workers.
import Histogram
import Primitives

/// A worker's task: its clients, and the kind of run.
struct WorkerTask: Sendable, Codable {
  var plan: LoadPlan
  /// One for each thread.
  var groups: [ClientGroup] = []
  var course: RunKind
  /// The database in which the worker verifies its sessions.
  var databaseURL: String?
  /// A falsification in one loop, to test the verifier.
  var tamper: Tamper?
  /// Time between two reports of progress.
  var reportMilliseconds: Int64 = 100
}

enum RunKind: Sendable, Codable {
  case chat
  case storm(StormCourse)
  case slow(SlowCourse)
  case growth(GrowthCourse)
  case idle(IdleCourse)
  case million(MillionCourse)
}

enum WorkerOrder: Sendable, Codable {
  case work(WorkerTask)
  /// The moment of the next step on the monotonic clock, which all processes share.
  case take(nanoseconds: Int64)
  /// Ends the load; messages in flight are still awaited.
  case stop
  /// The result has arrived: the worker may exit.
  case leave
}

enum WorkerReport: Sendable, Codable {
  /// The number of steps that its loops have reached, its counters, and the latencies since the
  /// last message.
  case progress(steps: Int, RunState.Snapshot, [String: Histogram<UInt64>])
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
