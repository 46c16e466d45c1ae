/// One request for a chat completion
/// (`https://platform.openai.com/docs/api-reference/chat/create`).
import HTTPClient
import JSON
import Kernel
public import Primitives
public import Webhooks

public struct CompletionRequest: Sendable {
  /// The name of the member that limits an answer's tokens: OpenAI's reasoning models accept only
  /// the newer one, and many other servers only the older one.
  public enum TokenLimit: String, CaseIterable, Sendable {
    case maxTokens = "max_tokens"
    case maxCompletionTokens = "max_completion_tokens"
  }

  /// The time until the first byte of an answer, within the time for all of it.
  public static let firstByteMilliseconds: Int64 = 30_000
  /// Bytes of a response with all its events.
  static let responseBytesMax = 4_194_304
  /// How often a run looks whether its reader is still there.
  static let tickMilliseconds: Int32 = 200

  public var endpoint: AssistEndpoint
  public var addressGuard: AddressGuard
  public var model: String
  /// Empty: the endpoint needs none.
  public var key: String
  public var tokenLimit: TokenLimit
  public var prompt: AssistPrompt
  public var milliseconds: Int64

  public init(
    endpoint: AssistEndpoint, addressGuard: AddressGuard, model: String, key: String,
    tokenLimit: TokenLimit, prompt: AssistPrompt, milliseconds: Int64
  ) {
    self.endpoint = endpoint
    self.addressGuard = addressGuard
    self.model = model
    self.key = key
    self.tokenLimit = tokenLimit
    self.prompt = prompt
    self.milliseconds = milliseconds
  }

  public var body: [UInt8] {
    .object { json in
      json.appendMember("model", model)
      json.appendKey("messages")
      json.append(UInt8(ascii: "["))
      for message in prompt.messages {
        json.appendComma()
        json += [UInt8].object {
          $0.appendMember("role", message.role.rawValue)
          $0.appendMember("content", message.content)
        }
      }
      json.append(UInt8(ascii: "]"))
      json.appendMember("stream", true)
      json.appendObject("stream_options") { $0.appendMember("include_usage", true) }
      switch tokenLimit {
      case .maxTokens: json.appendMember("max_tokens", prompt.answerTokensMax)
      case .maxCompletionTokens:
        json.appendMember("max_completion_tokens", prompt.answerTokensMax)
      }
    }
  }

  /// Sends the request and gives the answer to `feed` as it comes. Blocks its thread, at most for
  /// `milliseconds` after `start`; ends soon after the feed was cancelled.
  public func run(into feed: AssistFeed, since start: Instant) {
    let run = CompletionRun(feed)
    let left = milliseconds - SystemClock.now().milliseconds(since: start)
    guard left > 0 else { return feed.end(run.result(fault: .noAnswerInTime)) }
    var headers = [
      "Content-Type: application/json", "Accept: text/event-stream", "User-Agent: Chirrup",
    ]
    if !key.isEmpty { headers.append("Authorization: Bearer \(key)") }
    let request = HTTPRequest(
      url: endpoint.completions, headers: headers, body: body, milliseconds: Int(left),
      responseBytesMax: CompletionRequest.responseBytesMax,
      receive: { status, bytes in run.take(bytes, status: status) })
    let (endpoint, addressGuard) = (endpoint, addressGuard)
    let firstByteLimit = SystemClock.now().advanced(
      byMilliseconds: min(left, CompletionRequest.firstByteMilliseconds))
    let outcome = HTTPClient.outcome(
      of: request, admits: { endpoint.admits($0, under: addressGuard) },
      everyMilliseconds: CompletionRequest.tickMilliseconds,
      goesOn: {
        feed.tick()
        return !feed.isCancelled && (run.hasBegun || SystemClock.now() < firstByteLimit)
      })
    feed.end(run.result(outcome))
  }
}
