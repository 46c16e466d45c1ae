/// The devices on which somebody has logged in to an account before: a cookie for each account,
/// encrypted and signed by the gateway (AES-GCM), so that nothing is stored. It gives an allowance
/// of attempts of its own (`LoginLimits`) and no access.
import Directory
import OpenSSL
import Primitives
import Wire

struct KnownDevices: Sendable {
  /// The longest lifetime that browsers keep.
  static let seconds: Int64 = 400 * 86_400
  private static let idBytes = 16

  let secrets: SecretBox
  let origins: OriginPolicy

  /// The id of the device; nil if it has not logged in to the account before.
  func device(of account: Identifier, _ request: APIRequest) -> String? {
    let name = KnownDevices.cookieName(account)
    for value in request.headerValues("Cookie") {
      guard let cookie = RequestHead.cookie(name, in: value) else { continue }
      let parts = cookie.split(separator: ".")
      guard cookie.utf8.count <= APILimits.cookieBytes, parts.count == 2,
        let sealed = Base64.url.decode(parts[1].utf8),
        let id = secrets.open(
          SecretBox.Sealed(keyID: String(parts[0]), bytes: sealed),
          place: KnownDevices.place(account)),
        id.count == KnownDevices.idBytes
      else { return nil }
      return id.hexadecimal
    }
    return nil
  }

  /// The value of `Set-Cookie` after a login; `device` is the id it has already.
  func cookie(of account: Identifier, device: String?, _ request: APIRequest) -> String {
    let id =
      device.flatMap { [UInt8](hexadecimal: $0) } ?? SecureRandom.bytes(KnownDevices.idBytes)
    let sealed = secrets.seal(id, place: KnownDevices.place(account))
    return "\(KnownDevices.cookieName(account))=\(sealed.keyID).\(Base64.url.encode(sealed.bytes));"
      + " Path=\(API.authPath); HttpOnly; SameSite=Strict; Max-Age=\(KnownDevices.seconds)"
      + (origins.isSecure(request) ? "; Secure" : "")
  }

  /// One cookie for each account, so that several people may share a browser. The end of an id is
  /// its random part.
  private static func cookieName(_ account: Identifier) -> String {
    "chirrup_device_" + account.description.suffix(8)
  }

  private static func place(_ account: Identifier) -> String { "device:\(account)" }
}
