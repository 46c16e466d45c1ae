/// A picture, video, recording or file of a person on LINE. LINE prepares videos and recordings
/// first, and says how far it is; it deletes contents after a while.
import HTTPClient
import JSON
import Primitives

struct LineContentFetch: ContentFetch {
  private enum State {
    case start, asking, downloading
  }

  private let content: InboundContent
  private let url: String
  private let headers: [String]
  private let milliseconds: Int
  private let downloadMilliseconds: Int
  private var state = State.start

  init(
    _ content: InboundContent, at place: MenuPlace, headers: [String], milliseconds: Int,
    downloadMilliseconds: Int
  ) {
    self.content = content
    url = "\(place.data)/v2/bot/message/\(content.id)/content"
    self.headers = headers
    self.milliseconds = milliseconds
    self.downloadMilliseconds = downloadMilliseconds
  }

  mutating func next(after outcome: HTTPOutcome?) -> ContentStep {
    if case .start = state { return begin() }
    guard case .answered(let status, let body, let retryAfter)? = outcome else {
      if case .failed(let reason)? = outcome { return .end(.retry(reason: reason, seconds: 0)) }
      return .end(.retry(reason: "LINE's address is not allowed", seconds: 0))
    }
    switch status {
    case 200: return answered(body)
    case 202: return .end(.retry(reason: "LINE still prepares it", seconds: retryAfter))
    case 404, 410: return .end(.missing(reason: "LINE has deleted it."))
    case 500..., 401, 408, 425, 429:
      return .end(.retry(reason: LineChannel().reason(status, body), seconds: retryAfter))
    default: return .end(.missing(reason: LineChannel().reason(status, body)))
    }
  }

  private mutating func begin() -> ContentStep {
    guard ["video", "audio"].contains(content.kind) else { return download() }
    state = .asking
    return .request(
      HTTPRequest(
        url: url + "/transcoding", headers: headers, body: nil, milliseconds: milliseconds,
        responseBytesMax: LineChannel.answerBytes))
  }

  private mutating func download() -> ContentStep {
    state = .downloading
    return .download(
      HTTPRequest(url: url, headers: headers, body: nil, milliseconds: downloadMilliseconds))
  }

  private mutating func answered(_ body: [UInt8]) -> ContentStep {
    if case .downloading = state { return .end(.fetched) }
    switch JSONValue(body)?["status"]?.string {
    case "processing": return .end(.retry(reason: "LINE still prepares it", seconds: 0))
    case "failed": return .end(.missing(reason: "LINE could not prepare it."))
    default: return download()
    }
  }
}
