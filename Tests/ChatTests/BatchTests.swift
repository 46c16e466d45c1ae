import Chat
import Primitives
import Testing

@Suite("Batch")
struct BatchTests {
  func record(_ number: UInt64) -> Record {
    Record(
      workspace: Identifier(high: 3, low: 1), session: Identifier(high: 1, low: 1),
      id: Identifier(high: 2, low: number), role: .visitor, kind: .text, sender: nil,
      origin: Origin(loop: 0, index: 0, generation: 1, isRequest: false, ref: .none))
  }

  @Test("records keep their order and texts, and an emptied batch can be filled again")
  func order() {
    var batch = Batch()
    for round in 0..<2 {
      for number in 0..<UInt64(Limits.batchRecords) {
        let name = Array("n\(number)".utf8)
        let body = Array("b\(number) \(round)".utf8)
        name.withRawSpan { name in
          body.withRawSpan { body in
            batch.append(
              record(number), senderName: name, body: body, payload: body.extracting(0..<1),
              cameAt: Instant(nanoseconds: Int64(number)))
          }
        }
      }
      #expect(batch.count == Limits.batchRecords)
      #expect(batch.record(7).id.low == 7)
      #expect(batch.withSenderName(7) { $0.string } == "n7")
      #expect(batch.withBody(7) { $0.string } == "b7 \(round)")
      #expect(batch.withPayload(0) { $0.string } == "b")
      #expect(batch.came(7) == Instant(nanoseconds: 7))
      var waits = DurationHistogram()
      batch.addWaits(until: Instant(nanoseconds: 1_000), to: &waits)
      #expect(waits.count == UInt64(Limits.batchRecords))
      #expect(waits.longest == 1_000)
      batch.removeAll()
      #expect(batch.isEmpty && batch.byteCount == 0)
    }
  }
}
