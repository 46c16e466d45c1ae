/// Whether a gateway runs here, and whether it says that it can serve.
import JSON
import Settings

extension DoctorCheck {
  static let readiness = DoctorCheck(
    name: "readiness", symptom: "/readyz is 503; messages stay unsent",
    remedy: "see the checks of the database below, and the gateway's log"
  ) { examination in
    guard examination.facts.gatewayAnswers else {
      return .warning("no gateway runs here", mend: "start it: chirrup serve")
    }
    let all = Listeners.all(examination.settings)
    // Where a proxy must send a header, the admin listener answers without it.
    let isHidden = Listeners.expectsProxyHeader(examination.settings)
    let probed = all.filter { ($0.kind == .admin) == isHidden }
    guard !probed.isEmpty else { return .skipped("there is no admin_listen to read /readyz from") }
    for listener in probed {
      let answer = try HTTPAnswer.get(
        listener.url + "/readyz", milliseconds: 3_000, verifies: false)
      guard answer.status != 200 else { continue }
      let reason = JSONValue(answer.body)?["reason"]?.string ?? "status \(answer.status)"
      return .failure("\(listener.address) is not ready: \(reason)")
    }
    return .ok("the gateway can write and read")
  }
}
