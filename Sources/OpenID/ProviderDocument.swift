/// The document in which an identity provider describes itself (OpenID Connect Discovery §3).
import JSON
public import Webhooks

/// The reason why a provider cannot be used, as a sentence for administrators. It has no body of
/// the provider: only kinds of failures, statuses, and names of members.
public enum ProviderFault: Error, Sendable, Equatable {
  case unreachable(String)
  case status(Int, of: String)
  case malformed(String)
  /// The token endpoint refused the code.
  case codeRefused(String)

  public var sentence: String {
    switch self {
    case .unreachable(let reason): "The provider cannot be reached: \(reason)."
    case .status(let status, let place): "The provider answered \(status) at \(place)."
    case .malformed(let reason): "The provider's answer cannot be used: \(reason)."
    case .codeRefused(let code): "The provider refused the code: \(code)."
    }
  }

  static func object(_ text: [UInt8], _ name: String) throws(ProviderFault) -> JSONObject {
    do throws(JSONObject.Fault) {
      return try JSONObject(text)
    } catch {
      switch error {
      case .malformed, .notAnObject: throw .malformed("\(name) is no JSON object")
      case .tooDeep: throw .malformed("\(name) is nested too deeply")
      case .tooManyKeys: throw .malformed("\(name) has too many members")
      }
    }
  }
}

public struct ProviderDocument: Sendable, Equatable {
  public let issuer: String
  public let authorizationEndpoint: String
  let tokenEndpoint: String
  let userInfoEndpoint: String?
  let keysAddress: String
  /// Whether the secret goes into the body of a token request instead of a header.
  let sendsSecretInBody: Bool
  /// Whether each answer of the provider names its issuer (RFC 9207 §3).
  public let namesIssuer: Bool

  /// - Parameter issuer: the configured one, which the document must name exactly (§4.3).
  init(_ text: [UInt8], issuer: String, under addressGuard: AddressGuard) throws(ProviderFault) {
    let object = try ProviderFault.object(text, "the discovery document")
    guard object.text("issuer") == issuer else {
      throw .malformed("the discovery document names another issuer")
    }
    self.issuer = issuer
    authorizationEndpoint = try ProviderDocument.address(
      "authorization_endpoint", object, addressGuard)
    tokenEndpoint = try ProviderDocument.address("token_endpoint", object, addressGuard)
    keysAddress = try ProviderDocument.address("jwks_uri", object, addressGuard)
    userInfoEndpoint =
      object.member("userinfo_endpoint") == nil
      ? nil : try ProviderDocument.address("userinfo_endpoint", object, addressGuard)
    if let methods = object.texts("code_challenge_methods_supported"), !methods.contains("S256") {
      throw .malformed("the provider does not support PKCE with S256")
    }
    // RFC 8414 §2: without the member it is client_secret_basic.
    let methods = object.texts("token_endpoint_auth_methods_supported") ?? ["client_secret_basic"]
    guard methods.contains("client_secret_basic") || methods.contains("client_secret_post") else {
      throw .malformed("the provider accepts a client secret neither in a header nor in the body")
    }
    sendsSecretInBody = !methods.contains("client_secret_basic")
    namesIssuer = object.isTrue("authorization_response_iss_parameter_supported")
  }

  private static func address(
    _ name: String, _ object: JSONObject, _ addressGuard: AddressGuard
  ) throws(ProviderFault) -> String {
    guard let text = object.text(name) else {
      throw .malformed("the discovery document has no \(name)")
    }
    guard isAllowed(text, under: addressGuard) else {
      throw .malformed("\(name) is no address that this gateway may use")
    }
    return text
  }

  /// Whether requests may be sent to an address: over TLS to the public internet, unless the
  /// administrator of the gateway allows private networks.
  public static func isAllowed(_ url: String, under addressGuard: AddressGuard) -> Bool {
    guard addressGuard.allowsPrivate || url.utf8.starts(with: "https://".utf8) else { return false }
    return (try? WebhookAddress(url, under: addressGuard)) != nil
  }
}
