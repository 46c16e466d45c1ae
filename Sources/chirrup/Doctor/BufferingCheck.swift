/// Whether a proxy passes an answer on while it is still written. The gateway holds the end of the
/// answer to `public_url` back for seconds; see `ProxyProbe` of the gateway.
extension DoctorCheck {
  static let buffering = DoctorCheck(
    name: "buffering", symptom: "answers come late or all at once behind a proxy",
    remedy: "turn the proxy's buffering off for the gateway: proxy_buffering off; "
      + "(config/nginx.conf)"
  ) { examination in
    guard let arrival = examination.facts.arrival else {
      return .skipped("no request to public_url has arrived at the gateway")
    }
    let text = "an answer that lasts 3 s begins after \(arrival.milliseconds) ms"
    return arrival.milliseconds < BufferingFigures.latestMilliseconds
      ? .ok(text) : .warning("\(text): the proxy buffers it")
  }
}

enum BufferingFigures {
  /// Half of the time for which the gateway holds the answer open.
  static let latestMilliseconds: Int64 = 1_500
}
