/// The cookie of the console's login. Its value is a random secret, of which the database holds
/// only the hash.
import OpenSSL
import Primitives
import Wire

extension API {
  public static let cookieName = "chirrup_session"
  static let authPath = "/api/v1/auth"
}

enum LoginCookie {
  /// The paths that read the cookie. There is one cookie for each, so that pages, files and the
  /// opening of a WebSocket never receive it.
  private static let paths = [API.authPath, "/api/v1/admin"]

  /// The secret in a request's cookie (RFC 6265 §4.2.1).
  static func secret(in request: APIRequest) -> String? {
    for value in request.headerValues("Cookie") {
      if let secret = RequestHead.cookie(API.cookieName, in: value) {
        return secret.utf8.count <= APILimits.secretBytes ? secret : nil
      }
    }
    return nil
  }

  /// The values of `Set-Cookie`; an empty secret with 0 seconds deletes the cookie.
  static func headers(_ secret: String, seconds: Int64, isSecure: Bool) -> [String] {
    paths.map { path in
      "\(API.cookieName)=\(secret); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=\(seconds)"
        + (isSecure ? "; Secure" : "")
    }
  }
}

/// The stored form of a secret. It has 256 random bits, so it needs neither a salt nor a slow hash.
func secretHash(_ secret: String) -> [UInt8] { SHA256.digest(Array(secret.utf8)) }
