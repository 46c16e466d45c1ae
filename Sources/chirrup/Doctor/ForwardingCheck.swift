/// Whether a proxy passes on Host, and names the client in a way that the gateway may believe.
import Settings

extension DoctorCheck {
  static let forwarding = DoctorCheck(
    name: "forwarding", symptom: "strangers get 429 together; logs show the proxy's address",
    remedy: "set trusted_proxies to the proxy's address, and in the proxy: proxy_set_header Host "
      + "$host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto "
      + "$scheme; (config/nginx.conf)"
  ) { examination in
    guard let arrival = examination.facts.arrival else {
      return .skipped("no request to public_url has arrived at the gateway")
    }
    guard !arrival.isDirect else { return .ok("no proxy is between public_url and the gateway") }
    let settings = examination.settings
    if arrival.client == Arrival.claimed {
      return .failure(
        "the proxy passes on the X-Forwarded-For of clients, who can claim any address",
        mend: "set it in the proxy: proxy_set_header X-Forwarded-For $remote_addr;")
    }
    var faults: [String] = []
    if !arrival.peerIsTrusted {
      faults.append("the proxy \(arrival.peer) is not in trusted_proxies")
    } else if arrival.forwardedFor == nil, !settings.proxyProtocol {
      faults.append("the proxy \(arrival.peer) sets no X-Forwarded-For")
    }
    if let host = PublicURL.host(settings), arrival.host.map({ $0.hasPrefix(host) }) != true {
      faults.append("the proxy replaces Host by \(arrival.host ?? "nothing")")
    }
    if settings.publicURL?.hasPrefix("https://") == true, arrival.peerIsTrusted, !arrival.isSecure {
      faults.append("the proxy sets no X-Forwarded-Proto: https")
    }
    return faults.isEmpty
      ? .ok("the proxy \(arrival.peer) names the client, \(arrival.client)")
      : .warning(faults.joined(separator: "; "))
  }
}
