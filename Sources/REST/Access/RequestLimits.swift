/// Limits the requests with a login: those of one member, API key or visitor, and those of one
/// workspace. Visitors do not count for their workspace, so that no stranger can shut its members
/// out.
///
/// A request is counted after its caller was looked up. A caller above the limit is refused before
/// the next lookup, so that a flood of refused requests costs no statement.
import Directory
import Primitives
import Synchronization

final class RequestLimits: Sendable {
  /// The subject of a bucket; the name of its limit in responses.
  enum Subject: String {
    case member, key, visitor, workspace
    /// Parts of uploads of one caller, who has no other limit for them.
    case parts
  }

  private struct Buckets {
    var rates: [Subject: APIOptions.Rate]
    var tables: [Subject: RateTable<Identifier>] = [:]
    /// The end of the refusals of this credential, in milliseconds.
    var refused: [Int: (until: Int64, subject: Subject)] = [:]
  }

  /// Credentials that are refused without a lookup; further ones are looked up.
  static let refusedMax = 4_096

  private let buckets: Mutex<Buckets>
  /// The refusals of these and all other limits.
  let refusals = RefusalCounts()

  init(_ rates: APIOptions.Rates) {
    let all = RequestLimits.bySubject(rates)
    buckets = Mutex(
      Buckets(
        rates: all,
        tables: all.mapValues { RateTable(burst: $0.burst, perMinute: $0.perMinute) }))
  }

  private static func bySubject(_ rates: APIOptions.Rates) -> [Subject: APIOptions.Rate] {
    [
      .member: rates.requestsOfMember, .key: rates.requestsOfKey,
      .visitor: rates.requestsOfVisitor, .workspace: rates.requestsOfWorkspace,
      .parts: rates.uploadParts,
    ]
  }

  /// Changes the rates. A caller above the old one is counted by the new one.
  func use(_ rates: APIOptions.Rates) {
    let all = RequestLimits.bySubject(rates)
    buckets.withLock { buckets in
      buckets.rates = all
      buckets.refused = [:]
      for (subject, rate) in all {
        buckets.tables[subject]?.change(burst: rate.burst, perMinute: rate.perMinute)
      }
    }
  }

  private func rate(of subject: Subject) -> APIOptions.Rate? {
    buckets.withLock { $0.rates[subject] }
  }

  /// The credential of a request, as a hash under a secret of this process (SipHash), so that
  /// nobody can choose a collision; nil: none.
  static func credential(_ request: APIRequest) -> Int? {
    if let authorization = request.header("Authorization") { return authorization.hashValue }
    return LoginCookie.secret(in: request)?.hashValue
  }

  /// Throws 429 if the credential's caller is above a limit.
  func check(_ credential: Int?, _ now: WallTime) throws(Problem) {
    guard let credential else { return }
    let now = now.microseconds / 1_000
    let refusal = buckets.withLock { $0.refused[credential] }
    guard let refusal, refusal.until > now else { return }
    let seconds = Int((refusal.until - now + 999) / 1_000)
    throw .rateLimited(afterSeconds: seconds, limit: refusal.subject.rawValue)
      .adding([policyField([refusal.subject])])
  }

  /// Counts a request of a member or an API key; throws 429 above a limit.
  ///
  /// - Returns: the fields of the response.
  func take(
    _ caller: Caller, _ credential: Int?, _ now: WallTime
  ) throws(Problem) -> RateLimitFields {
    let subject: Subject
    switch caller {
    case .member: subject = .member
    case .key: subject = .key
    }
    return try take(
      [(subject, caller.id), (.workspace, caller.workspace)], credential, now)
  }

  /// Counts a request of a visitor.
  func take(
    visitor: Identifier, _ credential: Int?, _ now: WallTime
  ) throws(Problem) -> RateLimitFields {
    try take([(.visitor, visitor)], credential, now)
  }

  /// Counts a part of an upload. Above the limit its caller's other requests go on.
  func takePart(of caller: Identifier, _ now: WallTime) throws(Problem) -> RateLimitFields {
    try take([(.parts, caller)], nil, now)
  }

  private func take(
    _ wanted: [(subject: Subject, id: Identifier)], _ credential: Int?, _ now: WallTime
  ) throws(Problem) -> RateLimitFields {
    let milliseconds = now.microseconds / 1_000
    var levels: [(subject: Subject, level: RateTable<Identifier>.Level)] = []
    buckets.withLock { buckets in
      for (position, item) in wanted.enumerated() {
        let level = buckets.tables[item.subject]?.takeLevel(item.id, atMilliseconds: milliseconds)
        guard let level else { continue }
        levels.append((item.subject, level))
        guard level.waitSeconds > 0 else { continue }
        for taken in wanted[..<position] { buckets.tables[taken.subject]?.giveBack(taken.id) }
        let until = milliseconds + Int64(level.waitSeconds) * 1_000
        RequestLimits.refuse(credential, item.subject, until: until, milliseconds, &buckets)
        return
      }
    }
    let policy = policyField(levels.map(\.subject))
    // The subject that is refused, or else the one that has the smallest part of its burst left.
    let nearest = levels.min { part($0) < part($1) }
    guard let nearest else { return RateLimitFields(fields: []) }
    let field = (
      "RateLimit",
      "\"\(nearest.subject.rawValue)\";r=\(nearest.level.remaining);"
        + "t=\(nearest.level.secondsUntilFull)"
    )
    let refused = levels.first { $0.level.waitSeconds > 0 }
    guard let refused else { return RateLimitFields(fields: [policy, field]) }
    throw .rateLimited(
      afterSeconds: refused.level.waitSeconds, limit: refused.subject.rawValue
    ).adding([policy, field])
  }

  private static func refuse(
    _ credential: Int?, _ subject: Subject, until: Int64, _ now: Int64, _ buckets: inout Buckets
  ) {
    guard let credential else { return }
    if buckets.refused.count >= refusedMax {
      buckets.refused = buckets.refused.filter { $0.value.until > now }
    }
    guard buckets.refused.count < refusedMax else { return }
    buckets.refused[credential] = (until, subject)
  }

  private func part(_ item: (subject: Subject, level: RateTable<Identifier>.Level)) -> Double {
    item.level.waitSeconds > 0
      ? -1 : Double(item.level.remaining) / Double(rate(of: item.subject)?.burst ?? 1)
  }

  /// Quota and window of each limit (draft-ietf-httpapi-ratelimit-headers).
  private func policyField(_ subjects: [Subject]) -> (name: String, value: String) {
    let policies = subjects.compactMap { subject in
      rate(of: subject).map { "\"\(subject.rawValue)\";q=\($0.perMinute);w=60" }
    }
    return ("RateLimit-Policy", policies.joined(separator: ", "))
  }
}

/// The remaining requests of each limit, in the fields of a response.
struct RateLimitFields: Sendable {
  fileprivate var fields: [(name: String, value: String)]

  /// Runs the handler of a counted request; its response and its problem get the fields.
  func around(
    _ body: () async throws(Problem) -> APIResponse
  ) async throws(Problem) -> APIResponse {
    do throws(Problem) {
      var response = try await body()
      response.headers += fields
      return response
    } catch {
      throw error.adding(fields)
    }
  }
}

extension Problem {
  fileprivate func adding(_ fields: [(name: String, value: String)]) -> Problem {
    var problem = self
    problem.headers += fields
    return problem
  }
}
