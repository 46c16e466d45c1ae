/// Seconds with messages in flight but without acks: an outage as clients see it, of any cause.
extension RunRecord.Series {
  /// Shorter gaps are caused by scheduling.
  private static let secondsMin = 2.0
  private static let stallsMax = 100

  var stalls: [RunRecord.Event] {
    guard let acked = columns["acked_per_second"], let waiting = columns["in_flight"] else {
      return []
    }
    var stalls: [RunRecord.Event] = []
    var begin: Double?
    func close(_ end: Double) {
      if let start = begin, end - start >= Self.secondsMin, stalls.count < Self.stallsMax {
        stalls.append(
          RunRecord.Event(
            name: "no ack", atSeconds: rounded(start, places: 1),
            lastsSeconds: rounded(end - start, places: 1)))
      }
      begin = nil
    }
    for index in seconds.indices {
      let last = index == 0 ? 0 : seconds[index - 1]
      if acked[index] == 0, (waiting[index] ?? 0) > 0 {
        begin = begin ?? last
      } else {
        close(last)
      }
    }
    close(seconds.last ?? 0)
    return stalls
  }
}
