/// Why an endpoint gave no complete answer. The sentences are for operators: what happened, and
/// what to do. They hold no text of the endpoint, which may repeat the key or the prompt.
public enum CompletionFault: Error, Equatable, Sendable {
  /// libcurl's reason.
  case unreachable(String)
  /// The guard of addresses refused it.
  case addressRefused
  case unauthorized(status: Int)
  case notFound(code: String?)
  case rateLimited(retryAfterSeconds: Int64)
  case refused(status: Int, code: String?)
  case failed(status: Int)
  case redirected(status: Int)
  case notAStream
  case malformed
  case cutOff
  case tooLong
  case noAnswerInTime
  case tookTooLong
  /// The stream named an error of its own.
  case ended(code: String?)

  /// Stable names for programs and metrics.
  public enum Name: String, CaseIterable, Sendable {
    case unreachable = "endpoint_unreachable"
    case unauthorized = "endpoint_unauthorized"
    case notFound = "endpoint_not_found"
    case rateLimited = "endpoint_rate_limited"
    case refused = "endpoint_refused"
    case failed = "endpoint_failed"
    case incompatible = "endpoint_incompatible"
    case cutOff = "endpoint_cut_off"
    case tooLong = "answer_too_long"
    case tooSlow = "endpoint_too_slow"
  }

  public var name: Name {
    switch self {
    case .unreachable, .addressRefused: .unreachable
    case .unauthorized: .unauthorized
    case .notFound: .notFound
    case .rateLimited: .rateLimited
    case .refused: .refused
    case .failed, .ended: .failed
    case .redirected, .notAStream, .malformed: .incompatible
    case .cutOff: .cutOff
    case .tooLong: .tooLong
    case .noAnswerInTime, .tookTooLong: .tooSlow
    }
  }

  /// The HTTP status that fits: of a gateway whose upstream failed (RFC 9110 §15.6).
  public var status: Int {
    switch self {
    case .noAnswerInTime, .tookTooLong: 504
    case .rateLimited: 503
    default: 502
    }
  }

  public var sentence: String {
    switch self {
    case .unreachable(let reason):
      "The assist endpoint could not be reached (\(reason)). Try again, or ask an administrator to "
        + "check its address."
    case .addressRefused:
      "This gateway may not connect to the address of the assist endpoint. Ask an administrator to "
        + "check it."
    case .unauthorized(let status):
      "The assist endpoint refused the API key (HTTP \(status)). Ask an administrator to replace "
        + "it."
    case .notFound(let code):
      "The assist endpoint does not know the model or the path (HTTP 404\(named(code))). Ask an "
        + "administrator to check both."
    case .rateLimited(let seconds):
      "The assist endpoint has too many requests, or its credit is spent (HTTP 429). "
        + (seconds > 0 ? "Try again in \(seconds) s." : "Try again later.")
    case .refused(let status, let code):
      "The assist endpoint refused the request (HTTP \(status)\(named(code))). Ask an "
        + "administrator to check the model and its settings."
    case .failed(let status):
      "The assist endpoint has a fault (HTTP \(status)). Try again in a moment."
    case .redirected(let status):
      "The assist endpoint redirects (HTTP \(status)), which is not followed. Ask an administrator "
        + "to enter its final address."
    case .notAStream:
      "The assist endpoint did not answer with a stream of events. Ask an administrator to check "
        + "that it is compatible with OpenAI's chat completions."
    case .malformed:
      "The assist endpoint sent something that is no chat completion. Ask an administrator to "
        + "check that it is compatible with OpenAI's chat completions."
    case .cutOff: "The answer of the assist endpoint ended too early. Try again."
    case .tooLong: "The answer of the assist endpoint was too long and was cut. Check the text."
    case .noAnswerInTime: "The assist endpoint did not begin to answer in time. Try again."
    case .tookTooLong: "The assist endpoint took too long, and its answer was cut. Try again."
    case .ended(let code):
      "The assist endpoint ended its answer with an error\(named(code)). Try again."
    }
  }

  private func named(_ code: String?) -> String { code.map { ", \($0)" } ?? "" }
}
