/// The requests to endpoints of Assist since the gateway's start, for `/metrics`. All labels are
/// from closed lists.
import Assist
public import Primitives

public struct AssistMetrics: Sendable {
  /// The drafts of operators, answers to visitors, and trials by administrators.
  public enum Kind: String, CaseIterable, Sendable {
    case suggest, summary, translate, automatic, trial
  }

  /// `done`; `stopped`: its reader has left; else the name of the fault.
  public static let outcomes = ["done", "stopped"] + CompletionFault.Name.allCases.map(\.rawValue)

  private var runs: [Kind: [String: UInt64]] = [:]
  private var tokens: [Kind: UInt64] = [:]
  /// From the request to the first text.
  public private(set) var firstTexts = DurationHistogram()

  public init() {}

  public func runs(of kind: Kind, _ outcome: String) -> UInt64 { runs[kind]?[outcome] ?? 0 }
  public func tokens(of kind: Kind) -> UInt64 { tokens[kind] ?? 0 }

  mutating func begin(_ nanosecondsToFirstText: Int64) { firstTexts.add(nanosecondsToFirstText) }

  mutating func end(_ kind: Kind, _ result: CompletionResult, tokens spent: Int64) {
    let outcome = result.fault?.name.rawValue ?? (result.wasStopped ? "stopped" : "done")
    runs[kind, default: [:]][outcome, default: 0] += 1
    tokens[kind, default: 0] += UInt64(max(0, spent))
  }
}
