/// What must hold between the components of an engine, for the simulator and the fuzzer: walked
/// after every step there, never in the gateway.
extension Engine {
  /// What is wrong, or nil.
  package func inconsistency() -> String? {
    connections.inconsistency(sessions) ?? sessions.inconsistency()
      ?? queuePositions.inconsistency(sessions)
  }
}
