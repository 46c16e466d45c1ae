/// Schemas of passkeys. What the browser's functions take and return has the JSON forms of WebAuthn
/// §5.1, with its names.
import OpenSSL

extension Schema {
  static let passkey = PasskeyRoutes.passkey.schema.named("Passkey")

  static let passkeyOptions = object([
    "challenge": text.described("Send it back with the browser's response, within 5 minutes."),
    "public_key": object.described(
      "For `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`."),
  ]).named("PasskeyOptions")

  private static let challenge = string(1...APILimits.challengeBytes)
  private static let firstStep = string(0...APILimits.challengeBytes).described(
    "`challenge` of a login with a password, if this is its second step.")

  static let passkeyLoginBegin = input(optional: ["login": firstStep]).named("PasskeyLoginBegin")

  static let passkeyLogin = input(
    [
      "challenge": challenge,
      "credential": input([
        "id": base64(AuthenticatorData.credentialBytesMax),
        "response": input(
          [
            "clientDataJSON": base64(APILimits.clientDataBytes),
            "authenticatorData": base64(APILimits.authenticatorDataBytes),
            "signature": base64(APILimits.signatureBytes),
          ], optional: ["userHandle": base64(64)]),
      ]).described("`toJSON()` of the browser's response."),
    ],
    optional: ["login": firstStep, "workspace": string(0...APILimits.nameBytes)]
  ).named("PasskeyLogin")

  static let newPasskey = input([
    "challenge": challenge,
    "name": string(1...APILimits.passkeyNameBytes),
    "credential": input([
      "id": base64(AuthenticatorData.credentialBytesMax),
      "response": input(
        [
          "clientDataJSON": base64(APILimits.clientDataBytes),
          "authenticatorData": base64(APILimits.authenticatorDataBytes),
          "publicKey": base64(PublicKey.byteCountMax).described("SubjectPublicKeyInfo in DER."),
          "publicKeyAlgorithm": int(-65_536...65_536).described(
            "-7 (ES256) or -257 (RS256); others are refused."),
        ], optional: ["transports": array(of: string(0...32), 0...16)]),
    ]).described("`toJSON()` of the browser's response."),
  ]).named("NewPasskey")

  static let addedPasskey = object(
    ["id": id],
    sometimes: [
      "recovery_codes": array(of: text).described(
        "If it is the account's first factor; only in the first response.")
    ]
  ).named("AddedPasskey")

  /// Base64url without padding and without spare bits (RFC 4648 §3.5).
  private static func base64(_ bytesMax: Int) -> Schema {
    string(
      2...(bytesMax * 4 + 2) / 3,
      pattern: "^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]([AQgw]|[A-Za-z0-9_-][AEIMQUYcgkosw048]))?$")
  }
}
