import Foundation
import OpenSSL
import Primitives

/// A provider's key, made by the openssl command, and the tokens that it signs.
struct Signer {
  let algorithm: SignatureAlgorithm
  /// The key as the provider publishes it, without `kid`.
  let members: String
  private let path: String

  private static let folder: String = {
    let folder = NSTemporaryDirectory() + "chirrup-oidc-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }()

  static let rsa = Signer(.rs256, "rsa")
  static let otherRSA = Signer(.rs256, "other-rsa")
  static let ec = Signer(.es256, "ec")

  init(_ algorithm: SignatureAlgorithm, _ name: String) {
    self.algorithm = algorithm
    path = "\(Signer.folder)/\(name).pem"
    switch algorithm {
    case .rs256:
      Signer.openssl(["genrsa", "-out", path, "2048"])
      let text = Signer.openssl(["rsa", "-in", path, "-noout", "-modulus"])
      let digits = String(decoding: text, as: UTF8.self).split(separator: "=").last ?? ""
      let modulus = [UInt8](hexadecimal: digits.trimmingCharacters(in: .newlines).lowercased())
      members = #""kty":"RSA","n":"\#(Base64.url.encode(modulus ?? []))","e":"AQAB""#
    case .es256:
      Signer.openssl(["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", path])
      // The point is the end of the key: x and y.
      let der = Signer.openssl(["ec", "-in", path, "-pubout", "-outform", "DER"])
      let point = Array(der.suffix(64))
      let x = Base64.url.encode(Array(point.prefix(32)))
      let y = Base64.url.encode(Array(point.suffix(32)))
      members = #""kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)""#
    }
  }

  func key(_ id: String, _ more: String = "") -> String { #"{"kid":"\#(id)",\#(members)\#(more)}"# }

  /// A token in the compact form; the signature of ES256 is r‖s, or as openssl makes it.
  func token(_ header: String, _ claims: String, inDER: Bool = false) -> String {
    let signed = Signer.text(header) + "." + Signer.text(claims)
    return signed + "." + Base64.url.encode(signature(of: signed, inDER: inDER))
  }

  static func text(_ json: String) -> String { Base64.url.encode(Array(json.utf8)) }

  private func signature(of text: String, inDER: Bool) -> [UInt8] {
    let file = "\(Signer.folder)/\(UUID().uuidString)"
    try? text.write(toFile: file, atomically: true, encoding: .utf8)
    let made = Signer.openssl(["dgst", "-sha256", "-sign", path, file])
    guard algorithm == .es256, !inDER else { return made }
    // SEQUENCE { INTEGER r, INTEGER s }, each shorter than 128 bytes.
    let r = made[4..<4 + Int(made[3])]
    let s = made[(r.endIndex + 2)...]
    return [r, s].flatMap { Array(repeating: 0, count: max(0, 32 - $0.count)) + $0.suffix(32) }
  }

  @discardableResult
  private static func openssl(_ arguments: [String]) -> [UInt8] {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return [] }
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Array(bytes)
  }
}
