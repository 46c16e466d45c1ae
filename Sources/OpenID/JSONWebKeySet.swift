/// The keys with which an identity provider signs (RFC 7517): those for RS256 and ES256 that are
/// for signatures. All others are left out, so that none can be used by mistake.
import JSON
import OpenSSL
import Primitives

struct JSONWebKey: Sendable {
  /// The `kid`.
  var id: String?
  var algorithm: SignatureAlgorithm
  /// SubjectPublicKeyInfo in DER.
  var der: [UInt8]
}

public struct JSONWebKeySet: Sendable {
  /// Keys of one provider.
  public static let keysMax = 32

  let keys: [JSONWebKey]

  public init(_ text: [UInt8]) throws(ProviderFault) {
    let object = try ProviderFault.object(text, "the key set")
    guard let array = object.member("keys"), array.kind == .array else {
      throw .malformed("the key set has no array “keys”")
    }
    let elements = object.elements(of: array)
    guard elements.count <= JSONWebKeySet.keysMax else {
      throw .malformed("the key set has more than \(JSONWebKeySet.keysMax) keys")
    }
    keys = elements.compactMap { token in
      guard let key = try? JSONObject(Array(text[token.range])) else { return nil }
      return JSONWebKey(key)
    }
  }

  /// The key for a token. A token that names none is accepted if there is only one for its
  /// algorithm (OpenID Connect Core §10.1).
  func key(of token: IDToken) -> JSONWebKey? {
    let fitting = keys.filter { $0.algorithm == token.algorithm }
    if let id = token.keyID { return fitting.first { $0.id == id } }
    return fitting.count == 1 ? fitting.first : nil
  }
}

extension JSONWebKey {
  /// Nil if it is no key for signatures of the two algorithms.
  init?(_ key: JSONObject) {
    guard key.text("use") ?? "sig" == "sig" else { return nil }
    switch key.text("kty") {
    case "RSA":
      guard key.text("alg") ?? "RS256" == "RS256",
        let modulus = key.bytes("n"), let exponent = key.bytes("e"),
        let der = PublicKey.rsa(modulus: modulus, exponent: exponent)
      else { return nil }
      self.init(id: key.text("kid"), algorithm: .rs256, der: der)
    case "EC":
      guard key.text("alg") ?? "ES256" == "ES256", key.text("crv") == "P-256",
        let x = key.bytes("x"), let y = key.bytes("y"), let der = PublicKey.p256(x: x, y: y)
      else { return nil }
      self.init(id: key.text("kid"), algorithm: .es256, der: der)
    default: return nil
    }
  }
}

/// Members of a provider's documents. One of another type counts as missing.
extension JSONObject {
  func text(_ name: String) -> String? {
    guard let token = member(name), token.kind == .string else { return nil }
    return try? string(token)
  }

  func bytes(_ name: String) -> [UInt8]? {
    text(name).flatMap { Base64.url.decode($0.utf8) }
  }

  func isTrue(_ name: String) -> Bool { member(name)?.kind == .true_ }

  /// Seconds since 1970 (RFC 7519 §2, NumericDate).
  func seconds(_ name: String) -> Double? {
    guard let token = member(name), token.kind == .number else { return nil }
    let value = Double(String(decoding: text[token.range], as: UTF8.self))
    return value.flatMap { $0.isFinite ? $0 : nil }
  }

  /// A string, or the strings of an array; nil if it is missing or has another element.
  func texts(_ name: String) -> [String]? {
    guard let token = member(name) else { return nil }
    guard token.kind == .array else { return text(name).map { [$0] } }
    var texts: [String] = []
    for element in elements(of: token) {
      guard element.kind == .string, let text = try? string(element) else { return nil }
      texts.append(text)
    }
    return texts
  }
}
