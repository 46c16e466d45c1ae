import Directory
import Kernel
import OpenID
import OpenSSL
import Primitives
import Testing
import Webhooks

@testable import REST

/// Single sign-on without a provider; oidc.sh of the end-to-end tests has two.
@Suite struct ProviderLoginTests {
  private let secrets = SecretBox(configured: ["of a test"], signingKey: [])

  private func state(
    workspace: Identifier = World.identifier(), now: WallTime = World.now
  ) -> SignInState {
    let provider = IdentityProvider(
      workspace: workspace, isEnabled: true, label: "x", issuer: "https://login.example.com",
      clientID: "a \"b\"", secret: secrets.seal([1], place: "x"), scopes: "", groupsClaim: "groups",
      groupRoles: Array(#"[{"group":"a","role":"agent"},{"group":"b","role":"admin"}]"#.utf8),
      defaultRole: nil, createsMembers: true, takesRolesBack: false, allowsPasswords: true,
      trustsSecondFactor: false, requiredACR: nil, requiredAMR: nil)
    return SignInState(provider, redirectURI: "https://chat.example.com/console", now: now)
  }

  private func request(_ cookie: String, now: WallTime) -> APIRequest {
    let pair = String(cookie.prefix { $0 != ";" })
    return APIRequest(
      method: "POST", path: "/", headers: [("Cookie", "a=b; \(pair)")], peer: "192.0.2.1", now: now)
  }

  @Test("the state comes back from its cookie for ten minutes")
  func lifetime() {
    let state = state()
    let cookie = state.cookie(secrets, isSecure: true)
    let attributes = "; Path=/api/v1/auth/provider; HttpOnly; SameSite=Strict; Max-Age=600; Secure"
    #expect(cookie.hasSuffix(attributes))
    let times: [(Int64, Bool)] = [(0, true), (599, true), (600, false), (86_400, false)]
    for (seconds, isValid) in times {
      let found = SignInState(
        request(cookie, now: World.now.advanced(bySeconds: seconds)), secrets)
      #expect((found == state) == isValid && (found == nil) == !isValid, "\(seconds)")
    }
  }

  @Test("a cookie of another key, of another purpose or without form is none")
  func forged() {
    let cookie = state().cookie(secrets, isSecure: false)
    let other = SecretBox(configured: ["another"], signingKey: [])
    #expect(SignInState(request(cookie, now: World.now), other) == nil)
    let challenge = LoginChallenge(
      account: World.identifier(), workspace: World.identifier(), credential: "x")
    let sealed = challenge.sealed(secrets, now: World.now)
    for value in [sealed, "", ".", "a.b", "a.b.c", String(repeating: "a", count: 5_000)] {
      let header = SignInState.header(value, seconds: 1, isSecure: false)
      #expect(SignInState(request(header, now: World.now), secrets) == nil)
    }
  }

  @Test("no two states are alike")
  func random() {
    let states = (0..<100).map { _ in state() }
    #expect(Set(states.flatMap { [$0.state, $0.nonce, $0.verifier] }).count == 300)
    // RFC 7636 §4.1.
    #expect(states.allSatisfy { 43...128 ~= $0.verifier.utf8.count })
  }

  @Test("four requests of one workspace run at once, and another's go on")
  func threads() async throws {
    let threads = ProviderThreads(ProviderClient(AddressGuard()))
    let (slow, other) = (World.identifier(), World.identifier())
    let (begun, gate) = (Semaphore(), Semaphore())
    try await withThrowingTaskGroup { group in
      for _ in 0..<ProviderThreads.perWorkspace {
        group.addTask {
          _ = try await threads.run(for: slow) { (_) throws(ProviderFault) in
            begun.signal()
            gate.wait()
          }
        }
      }
      for _ in 0..<ProviderThreads.perWorkspace { begun.wait() }
      let refused = await #expect(throws: Problem.self) {
        _ = try await threads.run(for: slow) { (_) throws(ProviderFault) in true }
      }
      #expect(refused?.status == 503)
      let result = try await threads.run(for: other) { (_) throws(ProviderFault) in true }
      #expect(try result.get())
      for _ in 0..<ProviderThreads.perWorkspace { gate.signal() }
      try await group.waitForAll()
    }
    let result = try await threads.run(for: slow) { (_) throws(ProviderFault) in true }
    #expect(try result.get())
  }
}
