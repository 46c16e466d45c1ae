import Testing

@testable import Gateway

@Suite struct OutageTests {
  @Test func `each reason is logged once, until the outage is over`() {
    var outage = Outage()
    func note(_ reason: String) -> Outage.Transition? { outage.note(reason) }
    func end() -> Bool { outage.end() }
    #expect(note("connection refused") == .begins)
    #expect(note("connection refused") == nil)
    #expect(note("starting up") == .changes)
    #expect(note("connection refused") == nil)
    #expect(end())
    #expect(!end())
    #expect(note("starting up") == .begins)
  }

  @Test func `the number of remembered reasons is bounded`() {
    var outage = Outage()
    let remarks = (0..<2 * Outage.reasonsMax).filter { outage.note("reason \($0)") != nil }
    #expect(remarks.count == Outage.reasonsMax)
  }
}
