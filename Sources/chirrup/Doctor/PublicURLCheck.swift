/// Whether `public_url` leads to this gateway: a request to it, as a browser sends it, must arrive
/// here with a token that only this gateway knows.
import HTTPClient
import Kernel
import Primitives
import Settings
import Wire

extension DoctorCheck {
  static let publicURL = DoctorCheck(
    name: "public_url", symptom: "the console or the widget does not load, or shows another site",
    remedy: "set public_url to the address in the browser, and the proxy's target to an address of "
      + "listen",
    isFoundation: true
  ) { examination in
    guard examination.facts.gatewayAnswers else { return .skipped("no gateway runs here") }
    guard let url = PublicURL.text(examination.settings) else {
      return .skipped("there is no fixed address to connect to")
    }
    let arrival: Arrival
    switch try PublicURL.arrival(at: url, examination) {
    case .arrived(let found): arrival = found
    case .diagnosed(let diagnosis): return diagnosis
    }
    examination.note { $0.arrival = arrival }
    if examination.settings.publicURL == nil,
      !examination.settings.listen.allSatisfy(\.isLoopback)
    {
      return .warning("public_url is not set, so links and cookies use the address of each request")
    }
    return .ok("\(url) leads to this gateway")
  }
}

enum PublicURL {
  enum Outcome {
    case arrived(Arrival)
    case diagnosed(Diagnosis)
  }

  static let connectMilliseconds = 3_000

  /// `public_url`, or the first address of the settings.
  static func text(_ settings: Settings) -> String? {
    let first = Listeners.all(settings).first { $0.kind != .admin }
    return settings.publicURL ?? first?.url
  }

  /// The host of `public_url`, without brackets and port.
  static func host(_ settings: Settings) -> String? {
    guard let url = settings.publicURL else { return nil }
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.count < 3 ? nil : HostAndPort(parts[2]).map { String($0.host) }
  }

  /// Sends a request with a token to the gateway itself, to see that the token is its, and then to
  /// the URL.
  static func arrival(at url: String, _ examination: Examination) throws -> Outcome {
    let listeners = Listeners.all(examination.settings)
    let admin =
      examination.settings.adminIsPublic
      ? listeners.first { $0.kind != .admin } : listeners.first { $0.kind == .admin }
    guard let admin, let own = listeners.first(where: { $0.kind != .admin }),
      let path = try? HTTPAnswer.token(admin.url)
    else {
      return .diagnosed(
        .warning(
          "admin_listen does not answer, so it is not known where \(url) leads",
          mend: "set admin_listen to an address that is free, such as 127.0.0.1:9180"))
    }
    let isHidden = Listeners.expectsProxyHeader(examination.settings)
    guard try isHidden || Arrival.of(own.url + path, verifies: false).arrival != nil else {
      return .diagnosed(
        .warning(
          "\(admin.address) is the admin_listen of another gateway, so it is not known where "
            + "\(url) leads",
          mend: "give each gateway an admin_listen of its own"))
    }
    do {
      let answer = try Arrival.of(url + path, authority: examination.authority)
      if let arrival = answer.arrival { return .arrived(arrival) }
      return .diagnosed(diagnosis(of: answer.response, url))
    } catch let failure as RawConnection.Failure {
      return .diagnosed(.failure("\(url): \(failure)", mend: mend(failure)))
    }
  }

  private static func diagnosis(of response: HTTPAnswer, _ url: String) -> Diagnosis {
    switch response.status {
    case 421:
      .failure(
        "\(url) reaches a gateway that does not know the host of the request",
        mend: "let the proxy pass on Host (proxy_set_header Host $host;), or add the name to "
          + "allowed_hosts")
    case 502, 503, 504:
      .failure(
        "\(url) answers \(response.status): its proxy does not reach the gateway",
        mend: "set the proxy's target to an address of listen")
    case 0: .failure("\(url) accepts a connection and answers nothing")
    default:
      .failure(
        "\(url) leads to another server: it answers \(response.status)"
          + (response.server.map { " (\($0))" } ?? ""))
    }
  }

  private static func mend(_ failure: RawConnection.Failure) -> String? {
    switch failure.stage {
    case .name: DoctorCheck.dns.remedy
    case .tls: DoctorCheck.certificate.remedy
    case .connect, .other: nil
    }
  }
}
