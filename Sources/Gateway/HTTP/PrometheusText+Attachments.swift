/// Files that visitors and operators send.
extension PrometheusText {
  mutating func attachments(_ figures: AttachmentFigures) {
    family(
      "attachment_bytes_total", "counter",
      "Bytes of parts that were written, and bytes that were read for downloads.",
      [
        (#"{direction="received"}"#, figures.receivedBytes),
        (#"{direction="sent"}"#, figures.sentBytes),
      ])
    family(
      "attachments_total", "counter",
      "Complete uploads that were stored, or refused for their content.",
      [(#"{outcome="stored"}"#, figures.stored), (#"{outcome="refused"}"#, figures.refused)])
    family(
      "attachment_scans_total", "counter",
      "Files in which the virus scanner found something, and scans without a verdict.",
      [
        (#"{outcome="infected"}"#, figures.infected),
        (#"{outcome="no_verdict"}"#, figures.unscanned),
      ])
    family(
      "attachment_work", "gauge", "Reads and writes of files that run or wait for a thread.",
      [("", figures.work)])
  }
}

/// The counters of `AttachmentFiles`.
struct AttachmentFigures {
  var receivedBytes: UInt64 = 0
  var sentBytes: UInt64 = 0
  var stored: UInt64 = 0
  var refused: UInt64 = 0
  var infected: UInt64 = 0
  var unscanned: UInt64 = 0
  var work: UInt64 = 0
}
