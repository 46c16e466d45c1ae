/// The ledger of the process as a loop reaches it, and its limits. The gateway gives the lock,
/// since a pure target has none.
public struct SharedQuotas: Sendable {
  public typealias Exclusively = @Sendable (_ body: (inout QuotaLedger) -> Void) -> Void

  public let limits: QuotaTable.Configuration
  /// Calls the body with the ledger while no other loop has it.
  let exclusively: Exclusively

  public init(_ limits: QuotaTable.Configuration, exclusively: @escaping Exclusively) {
    self.limits = limits
    self.exclusively = exclusively
  }

  /// The same ledger with other limits. Each loop must take over the result (`QuotaTable.use`).
  public func changed(to limits: QuotaTable.Configuration) -> SharedQuotas {
    exclusively { $0.use(limits) }
    return SharedQuotas(limits, exclusively: exclusively)
  }

  /// Nothing is counted, so each call may get a ledger of its own.
  public static var unlimited: SharedQuotas {
    SharedQuotas(QuotaTable.Configuration()) { body in
      var ledger = QuotaLedger(QuotaTable.Configuration(), loopCount: 1, accountsMax: 1)
      body(&ledger)
    }
  }
}
