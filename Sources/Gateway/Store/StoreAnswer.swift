import Directory
import Engine
import Primitives

/// An answer of PostgreSQL for another component of the loop. Nil if it did not answer or refused.
enum StoreAnswer {
  /// The answer was for the store driver, the engine or a task, and is handled.
  case handled
  case origins((origins: [String], hasOpenWorkspace: Bool)?)
  /// The workspaces with a new operator.
  case presence([Identifier]?)
  /// The absent ones among the operators of visitors.
  case absences([(workspace: Identifier, operator: Identifier)]?)
  /// The revoked ones among the subjects of waiting tokens.
  case tokenChecks([Standing.Subject: Standing.Exclusion]?)
  /// The revoked ones among `count` connected subjects.
  case recheck(count: Int, [Standing.Subject: Standing.Exclusion]?)
  case revocations(Standing.Revoked?)
  /// Whether the other gateways were notified.
  case notified(Bool)
  /// Sessions with a higher head in the database than in memory, and deleted ones.
  case catchUp([SessionChange]?)
}
