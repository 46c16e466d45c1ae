import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import Testing
import Tokens

@testable import REST

/// Responses of another implementation (python-fido2), for one page and one challenge.
private enum Made {
  static let origin = "https://chat.example.com"
  static let challenge = [UInt8](0..<32)
  static let id = "cGFzc2tleSBvZiBhIHRlc3Q"
  static let creation =
    "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFS"
    + "RWhNVUZSWVhHQmthR3h3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vY2hhdC5leGFtcGxlLmNvbSIsImNyb3Nz"
    + "T3JpZ2luIjpmYWxzZX0"
  static let creationData =
    "rBmdwfRZZhnpqLSpSGjpXqOoKAf2zzJj6DEwr22UTdBFAAAAAAAAAAAAAAAAAAAAAAAAAAAAEXBhc3NrZXkg"
    + "b2YgYSB0ZXN0pQECAyYgASFYICF36Fqqu2WRiw5-TNe-LCPro6a7wYoLSQXp0Ytxk2mZIlggaER-nGJjfzwK"
    + "WjrYYeJmtuQxDVh4633iSXFSMt2ZhsQ"
  static let es256 = Key(
    algorithm: .es256,
    key:
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIXfoWqq7ZZGLDn5M174sI-ujprvBigtJBenRi3GTaZloRH6c"
      + "YmN_PApaOthh4ma25DENWHjrfeJJcVIy3ZmGxA",
    client:
      "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhN"
      + "VUZSWVhHQmthR3h3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vY2hhdC5leGFtcGxlLmNvbSIsImNyb3NzT3Jp"
      + "Z2luIjpmYWxzZX0",
    data: "rBmdwfRZZhnpqLSpSGjpXqOoKAf2zzJj6DEwr22UTdAFAAAAAA",
    signature:
      "MEUCIQDK-FITrdH-bYS9HFi5i1tCegw-szY9KE4qVU90x4JY5QIgQDhPBbm-KDHvkSbBQ8inCwY3TMapI4S3"
      + "Wjq5pArFe9s")
  static let rs256 = Key(
    algorithm: .rs256,
    key:
      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAs8x73sB1UPExD665W3kqtStEHIF6qyF8dF4uRrgy"
      + "mSawxA7RolM-PUt2XJUuapXUqq0jRnhcEBErrec3TIYRR2WZfAkCrYzkwm4meDtBZud-qykd9TEyjXARWcaM"
      + "hMGYG8BsfcJEfSNXH0tDSETM-K_ug85hxd6qRz4_id7ITyecCX1PUJx2Y8cDTBuKzTFvJK_JO3ENC2H_wRlZ"
      + "1rQrGVtuYVTBytceqGtXtDuleTRK7m9GmjSAmqy9N2Yha_Mj99yquQksG0E2qUqweE_jP-Ktem2oV0YU61YP"
      + "k47AX8rxI7Yv4HH3Au0W4gL6fT3nKqlGJy8ai72K35_q3-R2cQIDAQAB",
    client:
      "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhN"
      + "VUZSWVhHQmthR3h3ZEhoOCIsIm9yaWdpbiI6Imh0dHBzOi8vY2hhdC5leGFtcGxlLmNvbSIsImNyb3NzT3Jp"
      + "Z2luIjpmYWxzZX0",
    data: "rBmdwfRZZhnpqLSpSGjpXqOoKAf2zzJj6DEwr22UTdAFAAAAAA",
    signature:
      "hYKUvNb3iVNb1j6vHt9YGv3YZJQ_mApw6BwW5cPcrkLXXKf860ZWEF1KmUDB14gWmwqQZWw2W0G9bECv5hae"
      + "OwRPKhA4FtIlgUXTQpCDrRvYjmBbCZkvFNQUBE4z1B-ynSw-phnLd_pNYGmMOwbTx3CkeeyPtCl0pZPO9n_K"
      + "0OCWriLbvCo3ndKrBDTC_5JO2mIuLz32cFm7bfDpeSA8yXWAfl6Ysm0G8Tl-h6ZNoOrStTm5L0qNY47N77S8"
      + "wtKxeTYdo9r1_qlP48ohzjmvaQ-ofrrGYzE2NgghevEtFf64KioHMHCEjWqVIvVOktVAHzNEBw-uDZHyhuCg"
      + "HQtiuQ")

  struct Key: Sendable, CustomTestStringConvertible {
    var algorithm: SignatureAlgorithm
    var key: String
    var client: String
    var data: String
    var signature: String

    var signed: [UInt8] { bytes(data) + SHA256.digest(bytes(client)) }
    var testDescription: String { "\(algorithm)" }
  }
}

private func bytes(_ text: String) -> [UInt8] { Base64.url.decode(text.utf8) ?? [] }

/// The tests share one passkey and one database, so each begins without it.
@Suite(.serialized) struct PasskeyTests {
  private static let path = API.secondFactorPath + "/passkeys"
  private static let page = [
    ("Host", "chat.example.com"), ("Origin", Made.origin), ("Content-Type", "application/json"),
  ]

  private func send(
    _ world: World, _ path: String, _ body: String, _ headers: [(String, String)] = [],
    now: WallTime = World.now
  ) async -> Answer {
    await world.send("POST", path, PasskeyTests.page + headers, body, now: now)
  }

  private func emptyWorld() async throws -> World {
    let world = try await World()
    try world.database.asOwner(
      Query("DELETE FROM passkeys WHERE credential_id = $1::bytea", [.bytes(bytes(Made.id))]))
    try world.database.asOwner(
      Query(
        "DELETE FROM used_challenges WHERE digest = $1::bytea",
        [.bytes(SHA256.digest(Made.challenge))]))
    return world
  }

  private func login(_ world: World, now: WallTime = World.now) async -> Answer {
    await send(
      world, "/api/v1/auth/login",
      #"{"email":"\#(world.mika.email)","password":"\#(World.password)"}"#, now: now)
  }

  private func bearer(_ answer: Answer) throws -> [(String, String)] {
    [("Authorization", "Bearer \(try #require(answer.string("token")))")]
  }

  private func token(
    _ world: World, for purpose: PasskeyChallenge.Purpose, now: WallTime = World.now
  ) -> String {
    PasskeyChallenge(Made.challenge, now: now).sealed(world.api.options.secrets, for: purpose)
  }

  private func add(_ world: World, _ headers: [(String, String)]) async -> Answer {
    let challenge = token(world, for: .registration(of: world.mika.id))
    return await send(
      world, PasskeyTests.path + "/confirm",
      """
      {"challenge":"\(challenge)","name":"Laptop","credential":{"id":"\(Made.id)","response":{
      "clientDataJSON":"\(Made.creation)","authenticatorData":"\(Made.creationData)",
      "publicKey":"\(Made.es256.key)","publicKeyAlgorithm":-7,"transports":["usb","x"]}}}
      """, headers)
  }

  private func enter(
    _ world: World, token text: String? = nil, now: WallTime = World.now
  ) async -> Answer {
    let challenge = text ?? token(world, for: .login, now: now)
    let user = Base64.url.encode(PasskeyResponse.userHandle(of: world.mika.id))
    return await send(
      world, "/api/v1/auth/login/passkey",
      """
      {"challenge":"\(challenge)","credential":{"id":"\(Made.id)","response":{
      "clientDataJSON":"\(Made.es256.client)","authenticatorData":"\(Made.es256.data)",
      "signature":"\(Made.es256.signature)","userHandle":"\(user)"}}}
      """, now: now)
  }

  @Test(
    "a signature is valid for its data, key and algorithm only",
    arguments: [Made.es256, Made.rs256])
  fileprivate func signatures(made: Made.Key) {
    let (key, signature) = (bytes(made.key), bytes(made.signature))
    #expect(PublicKey.isValid(signature, for: made.signed, key: key, made.algorithm))
    for algorithm in SignatureAlgorithm.allCases where algorithm != made.algorithm {
      #expect(!PublicKey.isUsable(key, for: algorithm))
      #expect(!PublicKey.isValid(signature, for: made.signed, key: key, algorithm))
    }
    let other = made.algorithm == .es256 ? Made.rs256 : Made.es256
    #expect(!PublicKey.isValid(signature, for: made.signed, key: bytes(other.key), made.algorithm))
    #expect(!PublicKey.isValid(signature, for: made.signed + [0], key: key, made.algorithm))
    #expect(!PublicKey.isValid([], for: made.signed, key: key, made.algorithm))
    #expect(!PublicKey.isValid(signature, for: [], key: key, made.algorithm))
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 0x10
      #expect(!PublicKey.isValid(changed, for: made.signed, key: key, made.algorithm), "\(index)")
    }
    for length in key.indices {
      #expect(!PublicKey.isUsable(Array(key[..<length]), for: made.algorithm), "\(length)")
    }
  }

  @Test("each cut of an authenticator's data is refused, and its flags have to agree")
  func data() throws {
    let whole = bytes(Made.creationData)
    let read = try #require(AuthenticatorData(whole))
    #expect(read.credentialID == bytes(Made.id) && read.isUserVerified && !read.isSynced)
    for length in 0..<(37 + 18 + bytes(Made.id).count + 1) {
      #expect(AuthenticatorData(Array(whole[..<length])) == nil, "\(length)")
    }
    var login = bytes(Made.es256.data)
    #expect(AuthenticatorData(login) != nil)
    login[32] |= 0x10
    #expect(AuthenticatorData(login) == nil, "backed up, but not eligible")
    login[32] |= 0x08
    #expect(AuthenticatorData(login)?.isSynced == true)
    login[32] |= 0x80
    #expect(AuthenticatorData(login) == nil, "extensions that are missing")
    #expect(AuthenticatorData(login + [0xA0]) != nil)
  }

  @Test("a passkey logs in once for each challenge, and not after five minutes")
  func challenges() async throws {
    let world = try await emptyWorld()
    #expect(await enter(world).problem == "wrong_passkey")
    let added = await add(world, try bearer(await login(world)))
    #expect(added.status == 201 && (added["recovery_codes"] as? [String])?.count == 10)
    let challenge = token(world, for: .login)
    let late = await enter(world, token: challenge, now: Workplace.after(300))
    #expect(late.status == 401 && late.problem == "challenge_expired")
    let other = token(world, for: .registration(of: world.mika.id))
    #expect(await enter(world, token: other).problem == "challenge_expired")
    let entered = await enter(world, token: challenge, now: Workplace.after(299))
    #expect(entered.status == 200 && entered.header("Set-Cookie") != nil)
    let again = await enter(world, token: challenge, now: Workplace.after(299))
    #expect(again.status == 401 && again.problem == "wrong_passkey")
    #expect(try await world.audit() == ["passkey.added", "login.failed"])
  }

  @Test("if the workspace requires a second factor, a passkey is one")
  func enforced() async throws {
    let world = try await emptyWorld()
    let owner = try await world.member(.owner)
    _ = try await world.call(
      "PATCH", "/api/v1/admin/settings", as: owner,
      json: #"{"settings":{"security":{"require_second_factor":true}}}"#)
    let first = await login(world)
    #expect(first["must_add_second_factor"] as? Bool == true)
    #expect(await add(world, try bearer(first)).status == 201)
    let entered = await enter(world)
    #expect(entered["must_add_second_factor"] as? Bool == false)
    #expect(await world.send("GET", conversations, try bearer(entered)).status == 200)
    let step = await login(world)
    #expect(step["methods"] as? [String] == ["passkey", "recovery_code"])
    let list = await world.send("GET", API.secondFactorPath, try bearer(entered))
    let id = try #require(list.objects("passkeys").first?["id"] as? String)
    let kept = await send(
      world, "\(PasskeyTests.path)/\(id)/remove", #"{"current":"\#(World.password)"}"#,
      try bearer(entered))
    #expect(kept.status == 409)
  }

  @Test("an account without a password changes its factors within ten minutes of a login")
  func withoutPassword() async throws {
    let world = try await emptyWorld()
    _ = await add(world, try bearer(await login(world)))
    try world.database.asOwner(
      Query("UPDATE operators SET password_hash = NULL WHERE id = $1::uuid", [.uuid(world.mika.id)])
    )
    #expect(await login(world).status == 401)
    let own = try bearer(await enter(world))
    let app = API.secondFactorPath + "/app"
    #expect(await send(world, app, "{}", own, now: Workplace.after(600)).status == 200)
    let late = await send(world, app, "{}", own, now: Workplace.after(601))
    #expect(late.status == 403 && late.problem == "login_too_old")
    // A token of the command line belongs to no login.
    let command = [("Authorization", try world.bearer(world.mika))]
    #expect(await send(world, app, "{}", command).problem == "login_too_old")
  }

  @Test("a login that was checked without a second factor waits for one that is being added")
  func overlap() async throws {
    let world = try await emptyWorld()
    let id = world.mika.id
    // Takes the account's lock, and adds a factor when the login waits for it.
    async let added = world.database.perform { connection -> Bool in
      do {
        _ = try connection.run(Query("BEGIN"))
        _ = try connection.run(Query(PasskeyTests.lock, [.uuid(id)]))
        var tries = 0
        while try connection.run(Query(PasskeyTests.waiting, [.uuid(id)])).isEmpty, tries < 6_000 {
          tries += 1
          _ = try connection.run(Query("SELECT pg_sleep(0.05)"))
        }
        _ = try connection.run(
          Query(
            """
            INSERT INTO second_factors (operator_id, key_id, secret, confirmed_at)
            VALUES ($1::uuid, 'x', '\\x00', now())
            """, [.uuid(id)]))
        _ = try connection.run(Query("COMMIT"))
        return tries < 6_000
      } catch {
        return false
      }
    }
    try await world.database.wait(until: Query(PasskeyTests.held, [.uuid(id)]))
    let isCreated = try await world.database.ask(
      OperatorSession.create(
        tokenHash: SHA256.digest([1]), operator: id, workspace: world.workspace.id,
        passwordHash: World.passwordHash,
        from: OperatorSession.Client(device: "", address: ""), now: World.now,
        expiresAt: Workplace.after(60)))
    #expect(await added, "the login waits")
    #expect(!isCreated)
  }

  private static let key: SQL = "hashtextextended('chirrup account ' || $1::uuid::text, 0)"
  private static let lock: SQL = "SELECT pg_advisory_xact_lock(\(key))"
  private static let locks: SQL = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
      AND (classid::bigint << 32 | objid::bigint) = \(key)
    """
  private static let held: SQL = "\(locks) AND granted"
  private static let waiting: SQL = "\(locks) AND NOT granted"
}
