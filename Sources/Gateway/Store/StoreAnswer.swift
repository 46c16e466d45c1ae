import Directory
import Primitives

/// An answer of PostgreSQL to another component of the loop. Nil where it did not answer, or
/// refused.
enum StoreAnswer {
  /// It was the store's own, the engine's or a task's, and is dealt with.
  case handled
  case origins((origins: [String], hasOpenWorkspace: Bool)?)
  /// The workspaces in which an operator came.
  case presence([Identifier]?)
  /// Which of the people behind waiting tokens are shut out.
  case tokenChecks(Set<Standing.Subject>?)
  /// Which of so many connected people are shut out.
  case recheck(count: Int, Set<Standing.Subject>?)
  case revocations(Standing.Revoked?)
  /// The other gateways were notified.
  case notified(Bool)
  /// Sessions that are further in the database than in memory.
  case catchUp([Identifier]?)
}
