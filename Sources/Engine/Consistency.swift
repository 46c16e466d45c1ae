/// Invariants between the components, for the simulator and the fuzzer. The gateway never checks
/// them.
extension Engine {
  /// The first invariant that does not hold, or nil.
  package func inconsistency() -> String? {
    connections.inconsistency(sessions) ?? sessions.inconsistency()
      ?? queuePositions.inconsistency(sessions)
  }
}
