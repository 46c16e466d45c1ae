import Kernel
public import Webhooks

/// The base address of an OpenAI-compatible API, such as `https://api.example.com/v1`.
///
/// A tenant chooses it, so it passes the guard of webhooks against server-side request forgery. It
/// must use https: the requests carry the key and the texts of conversations. Only a gateway that
/// allows private networks accepts http, and then for such addresses only.
public struct AssistEndpoint: Equatable, Sendable {
  public static let bytesMax = 512

  public enum Fault: Error, Equatable, Sendable {
    case address(WebhookAddress.Fault)
    case tooLong
    case notSecure
    case hasQuery
  }

  public let base: String
  let isSecure: Bool

  public init(_ text: String, under addressGuard: AddressGuard) throws(Fault) {
    guard text.utf8.count <= AssistEndpoint.bytesMax else { throw .tooLong }
    let url: String
    do throws(WebhookAddress.Fault) {
      url = try WebhookAddress(text, under: addressGuard).url
    } catch {
      throw .address(error)
    }
    isSecure = url.lowercased().hasPrefix("https://")
    guard isSecure || addressGuard.allowsPrivate else { throw .notSecure }
    guard !url.contains("?") else { throw .hasQuery }
    base = url.hasSuffix("/") ? String(url.dropLast()) : url
  }

  var completions: String { base + "/chat/completions" }

  /// Whether a connection to this resolved address is allowed.
  func admits(_ peer: PeerAddress, under addressGuard: AddressGuard) -> Bool {
    addressGuard.admits(peer) && (isSecure || !AddressGuard.isPublic(peer.ip))
  }
}
