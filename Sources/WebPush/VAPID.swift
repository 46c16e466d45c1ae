/// Identification of the sender to push services (VAPID, RFC 8292): a token that the gateway's key
/// signs, so that a stolen subscription is of no use with another key.
import JSON
public import OpenSSL
public import Primitives

public enum VAPID {
  /// A token lives at most 24 hours (RFC 8292 §2). Half of that tolerates a wrong clock.
  static let tokenSeconds: Int64 = 12 * 3_600

  /// The header `Authorization` of a request to a push service.
  ///
  /// - Parameters:
  ///   - origin: of the push service, see `PushSubscription.origin`.
  ///   - contact: a URL of the gateway's administrator; nil: none is known.
  public static func authorization(
    for origin: String, contact: String?, key: P256Key, now: WallTime
  ) -> String {
    let claims = [UInt8].object { json in
      json.appendMember("aud", origin)
      json.appendMember("exp", now.microseconds / 1_000_000 + tokenSeconds)
      json.appendMember("sub", ifAny: contact)
    }
    let header = Base64.url.encode(Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8))
    let signed = "\(header).\(Base64.url.encode(claims))"
    let signature = Base64.url.encode(key.signature(of: Array(signed.utf8)))
    return "vapid t=\(signed).\(signature),k=\(Base64.url.encode(key.point))"
  }
}
