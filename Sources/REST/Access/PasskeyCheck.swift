/// Checks what a browser and an authenticator return for a passkey (WebAuthn §7.1 and §7.2). The
/// user is always verified, by the device's PIN or biometrics, so a passkey is two factors.
import Directory
import JSON
import Kernel
import OpenSSL
import Primitives
import Wire

/// The reason of a refusal, for the log. The client gets one sentence for all of them.
enum PasskeyFault: String, Error {
  case malformed = "passkey_malformed"
  case wrongType = "passkey_wrong_type"
  case wrongChallenge = "passkey_wrong_challenge"
  case wrongOrigin = "passkey_wrong_origin"
  case wrongHost = "passkey_wrong_host"
  case notVerified = "passkey_user_not_verified"
  case wrongKey = "passkey_wrong_key"
  case wrongSignature = "passkey_wrong_signature"
  case unknown = "passkey_unknown"
  case wrongAccount = "passkey_wrong_account"
  case counter = "passkey_counter"
  case replayed = "passkey_replayed"
}

/// The page for which passkeys are made (WebAuthn §4).
struct RelyingParty {
  /// The host name.
  var id: String
  /// The origins of the gateway's pages at this host.
  var origins: [String]
}

/// The values that a valid response matches.
struct PasskeyExpectation {
  var challenge: [UInt8]
  var relyingParty: RelyingParty
}

/// `PublicKeyCredential` as `toJSON()` gives it (WebAuthn §5.1), of a registration or of a login.
struct PasskeyResponse {
  let id: [UInt8]
  private let clientData: [UInt8]
  private let data: [UInt8]
  private let response: JSONObject

  /// Texts are in base64url.
  init(_ credential: JSONObject) throws(Problem) {
    guard let response = try credential.nested("response") else {
      throw .missing("response", in: credential)
    }
    self.response = response
    id = try credential.base64("id", bytesMax: AuthenticatorData.credentialBytesMax)
    clientData = try response.base64("clientDataJSON", bytesMax: APILimits.clientDataBytes)
    data = try response.base64("authenticatorData", bytesMax: APILimits.authenticatorDataBytes)
  }

  /// A new passkey, under this name.
  func registered(
    _ expected: PasskeyExpectation, name: String
  ) throws(Problem) -> Result<Passkey.New, PasskeyFault> {
    let key = try response.base64("publicKey", bytesMax: PublicKey.byteCountMax)
    guard let number = try response.int("publicKeyAlgorithm", in: -65_536...65_536) else {
      throw .missing("publicKeyAlgorithm", in: response)
    }
    let transports = try response.strings("transports", countMax: 16, bytesMax: 32) ?? []
    do throws(PasskeyFault) {
      let data = try checked(expected, type: "webauthn.create")
      guard data.credentialID == id else { throw .malformed }
      guard let algorithm = SignatureAlgorithm(rawValue: number),
        PublicKey.isUsable(key, for: algorithm)
      else { throw .wrongKey }
      return .success(
        Passkey.New(
          relyingParty: expected.relyingParty.id, credentialID: id, publicKey: key,
          algorithm: number, signCount: data.signCount, isSynced: data.isSynced,
          transports: transports.filter { PasskeyResponse.transports.contains($0) }, name: name))
    } catch {
      return .failure(error)
    }
  }

  /// AuthenticatorTransport (WebAuthn §5.8.4).
  static let transports = ["ble", "hybrid", "internal", "nfc", "smart-card", "usb"]

  /// The authenticator's data of a login with this passkey.
  ///
  /// - Parameter isFirstStep: nobody but the passkey has named the account (WebAuthn §7.2, step 6).
  func proven(
    by passkey: Passkey, _ expected: PasskeyExpectation, isFirstStep: Bool
  ) throws(Problem) -> Result<AuthenticatorData, PasskeyFault> {
    let signature = try response.base64("signature", bytesMax: APILimits.signatureBytes)
    let user = try response.optionalBase64("userHandle", bytesMax: 64)
    do throws(PasskeyFault) {
      let data = try checked(expected, type: "webauthn.get")
      guard data.credentialID == nil else { throw .malformed }
      guard user == nil && !isFirstStep || user == PasskeyResponse.userHandle(of: passkey.account)
      else {
        throw .wrongAccount
      }
      guard let algorithm = SignatureAlgorithm(rawValue: passkey.algorithm),
        PublicKey.isValid(
          signature, for: self.data + SHA256.digest(clientData), key: passkey.publicKey, algorithm)
      else { throw .wrongSignature }
      return .success(data)
    } catch {
      return .failure(error)
    }
  }

  static func userHandle(of account: Identifier) -> [UInt8] {
    var bytes: [UInt8] = []
    account.appendBytes(to: &bytes)
    return bytes
  }

  /// The steps that registration and login share.
  private func checked(
    _ expected: PasskeyExpectation, type: String
  ) throws(PasskeyFault) -> AuthenticatorData {
    guard let client = ClientData(clientData), let data = AuthenticatorData(data) else {
      throw .malformed
    }
    guard client.type == type else { throw .wrongType }
    guard Base64.url.decode(client.challenge.utf8) == expected.challenge else {
      throw .wrongChallenge
    }
    guard !client.isCrossOrigin, let origin = WebOrigin.normalize(client.origin),
      expected.relyingParty.origins.contains(origin)
    else { throw .wrongOrigin }
    guard data.relyingPartyHash == SHA256.digest(Array(expected.relyingParty.id.utf8)) else {
      throw .wrongHost
    }
    guard data.isUserPresent, data.isUserVerified else { throw .notVerified }
    return data
  }
}

/// The browser's statement (`CollectedClientData`, WebAuthn §5.8.1).
private struct ClientData {
  var type: String
  var challenge: String
  var origin: String
  /// Whether a page of another origin embeds the one that called.
  var isCrossOrigin: Bool

  init?(_ bytes: [UInt8]) {
    do {
      let object = try JSONObject(bytes)
      guard let type = try object.string("type", bytesMax: 64),
        let challenge = try object.string("challenge", bytesMax: 128),
        let origin = try object.string("origin", bytesMax: WebOrigin.byteCountMax)
      else { return nil }
      self.type = type
      self.challenge = challenge
      self.origin = origin
      isCrossOrigin = try object.bool("crossOrigin") ?? false || object.has("topOrigin")
    } catch {
      return nil
    }
  }
}

extension JSONObject {
  /// Bytes in base64url, at least one.
  fileprivate func base64(_ name: String, bytesMax: Int) throws(Problem) -> [UInt8] {
    guard let bytes = try optionalBase64(name, bytesMax: bytesMax) else {
      throw .missing(name, in: self)
    }
    return bytes
  }

  fileprivate func optionalBase64(
    _ name: String, bytesMax: Int
  ) throws(Problem) -> [UInt8]? {
    guard let text = try string(name, bytesMax: (bytesMax * 4 + 2) / 3) else { return nil }
    guard let bytes = Base64.url.decode(text.utf8), !bytes.isEmpty else {
      throw .invalidMember(name, in: self, "base64url without padding")
    }
    return bytes
  }
}

extension WebOrigin {
  /// The host name of an origin in whose pages browsers have passkeys: over TLS, or `localhost`.
  static func secureHost(of text: String) -> String? {
    guard let origin = normalize(text) else { return nil }
    let parts = origin.split(separator: "/")
    guard parts.count == 2, let name = HostAndPort(parts[1])?.host.lowercased(),
      IPAddress(name) == nil
    else { return nil }
    let isLocal = name == "localhost" || name.hasSuffix(".localhost")
    return parts[0] == "https:" || isLocal && parts[0] == "http:" ? name : nil
  }
}

extension Problem {
  static let noPasskeysHere = Problem.conflict(
    "Passkeys require the console at a host name over TLS, such as https://chat.example.com, or at "
      + "http://localhost.")

  static let wrongPasskey = Problem(
    status: 401, type: "wrong_passkey", title: "Login failed",
    detail:
      "The passkey was not accepted: it is unknown here, or the login was not confirmed on the "
      + "device. Try again, or log in with the password.",
    headers: unauthenticated.headers)

  /// 403 as for a wrong password of a caller who is logged in.
  static let wrongNewPasskey = Problem.forbidden(
    "wrong_passkey",
    "The new passkey was not accepted. Confirm it on the device with a PIN or biometrics, and try "
      + "again.")

  static let passkeyRequestExpired = Problem(
    status: 401, type: "challenge_expired", title: "Try again",
    detail: "The passkey was not used in time. Try again.",
    headers: unauthenticated.headers)

  /// 409: 401 would mean that the caller is not logged in.
  static let registrationExpired = Problem.conflict(
    "The new passkey was not confirmed in time. Begin again.")
}
