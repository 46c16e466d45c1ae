import Primitives

/// The response to a connection that `Admission` refuses: 429 or 503 with Retry-After.
struct AdmissionRefusal {
  var status: Int
  var reason: StaticString
  var detail: String
  var retryAfter: Int

  init(_ decision: Admission.ConnectionDecision) {
    switch decision {
    case .admitted: preconditionFailure("an admitted connection is not refused")
    case .full:
      self.init(503, "too many connections in all", "The gateway is full. Try again.")
    case .tooManyFromAddress:
      self.init(
        429, "too many connections from one address",
        "Too many connections from this address. Close some, or try again.")
    case .tooFast(let seconds):
      self.init(
        429, "connects too fast from one address",
        "Too many new connections from this address. Try again later.", retryAfter: seconds)
    }
  }

  private init(_ status: Int, _ reason: StaticString, _ detail: String, retryAfter: Int = 5) {
    self.status = status
    self.reason = reason
    self.detail = detail
    self.retryAfter = retryAfter
  }
}

/// The response to a refused socket as bytes, cached for one second, so that refusing a flood costs
/// no more than accepting.
struct RefusalResponses {
  private var decision = Admission.ConnectionDecision.admitted
  private var second: Int64 = 0
  private var bytes: [UInt8] = []

  mutating func response(_ wanted: Admission.ConnectionDecision, at time: WallTime) -> [UInt8] {
    let now = time.microseconds / 1_000_000
    guard wanted != decision || now != second else { return bytes }
    (decision, second) = (wanted, now)
    let refusal = AdmissionRefusal(wanted)
    bytes = []
    HTTPResponse.append(
      HTTPResponse.problem(
        refusal.status, refusal.detail, headers: [("Retry-After", "\(refusal.retryAfter)")]),
      isKeptAlive: false, at: time, to: &bytes)
    return bytes
  }
}
