/// Reads one streamed chat completion: its pieces of text, why it ended, and what it cost.
///
/// `https://platform.openai.com/docs/api-reference/chat-streaming`: each event is a chunk with
/// `choices[0].delta.content`; the last has `finish_reason`; with `stream_options.include_usage` a
/// chunk without choices and with `usage` follows; `[DONE]` ends the stream.
import JSON
import Primitives

/// The tokens of one request, as the endpoint counts them.
public struct TokenUsage: Equatable, Sendable {
  public var prompt: Int64
  public var answer: Int64

  public init(prompt: Int64, answer: Int64) {
    self.prompt = prompt
    self.answer = answer
  }

  public var total: Int64 { prompt + answer }

  /// The most tokens of one request that are believed.
  static let max = 100_000_000

  /// Tokens of a text whose endpoint does not count them: one for three bytes is more than English
  /// has (4), and about as many as scripts with three bytes a character have.
  public static func estimate(bytes: Int) -> Int64 { Int64((bytes + 2) / 3) }
}

public struct CompletionReader: Sendable {
  /// Bytes of the text of an answer.
  public static let textBytesMax = 16_384
  /// Bytes of an error's body that are looked at.
  static let errorBytesMax = 8_192

  private var stream = EventStream()
  private var errorBody: [UInt8] = []
  private var hasEvents = false
  /// The endpoint has said that the text is complete.
  private var isFinished = false
  public private(set) var isDone = false
  public private(set) var textByteCount = 0
  public private(set) var usage: TokenUsage?
  public private(set) var fault: CompletionFault?

  public init() {}

  /// Reads bytes of a response with this status.
  ///
  /// - Returns: the text in them. After a fault, and after the end, nothing more is read.
  public mutating func push(_ bytes: [UInt8], status: Int) -> String {
    guard fault == nil, !isDone else { return "" }
    guard status == 200 else {
      errorBody += bytes.prefix(CompletionReader.errorBytesMax - errorBody.count)
      return ""
    }
    var text = ""
    do throws(EventStream.Fault) {
      for data in try stream.push(bytes) where fault == nil && !isDone { text += take(data) }
    } catch {
      fault = hasEvents ? .tooLong : .notAStream
    }
    return text
  }

  private mutating func take(_ data: [UInt8]) -> String {
    hasEvents = true
    if data.elementsEqual("[DONE]".utf8) {
      isDone = true
      return ""
    }
    guard let chunk = JSONValue(data), chunk.object != nil else {
      fault = .malformed
      return ""
    }
    if let error = chunk["error"], error != .null {
      fault = .ended(code: CompletionReader.code(of: error))
      return ""
    }
    if let usage = chunk["usage"], usage.object != nil { take(usage: usage) }
    guard let choice = chunk["choices"]?.array?.first else { return "" }
    if choice["finish_reason"]?.string != nil { isFinished = true }
    guard let text = choice["delta"]?["content"]?.string else { return "" }
    textByteCount += text.utf8.count
    guard textByteCount <= CompletionReader.textBytesMax else {
      fault = .tooLong
      return ""
    }
    return text
  }

  private mutating func take(usage value: JSONValue) {
    guard let prompt = value["prompt_tokens"]?.int, let answer = value["completion_tokens"]?.int,
      0...TokenUsage.max ~= prompt, 0...TokenUsage.max ~= answer
    else { return }
    usage = TokenUsage(prompt: Int64(prompt), answer: Int64(answer))
  }

  /// The response has ended.
  public mutating func end(status: Int, retryAfterSeconds: Int64) {
    guard fault == nil else { return }
    switch status {
    case 200:
      if !hasEvents { fault = .notAStream } else if !isFinished && !isDone { fault = .cutOff }
    case 401, 403: fault = .unauthorized(status: status)
    case 404: fault = .notFound(code: errorCode)
    case 429: fault = .rateLimited(retryAfterSeconds: retryAfterSeconds)
    case 300..<400: fault = .redirected(status: status)
    case 500...: fault = .failed(status: status)
    case 201..<300: fault = .notAStream
    default: fault = .refused(status: status, code: errorCode)
    }
  }

  private var errorCode: String? {
    JSONValue(errorBody)?["error"].flatMap { CompletionReader.code(of: $0) }
  }

  /// The code or type of an error, if it is a word such as `model_not_found`. The message is not
  /// shown: it may repeat a part of the key.
  private static func code(of error: JSONValue) -> String? {
    let word = error["code"]?.string ?? error["type"]?.string
    guard let word, 1...64 ~= word.utf8.count,
      word.utf8.allSatisfy({ $0.isLowercaseASCIILetter || $0 == UInt8(ascii: "_") })
    else { return nil }
    return word
  }
}
