import Testing

@testable import Assist

@Suite struct CompletionReaderTests {
  private static let whole = """
    data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",\
    "choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,\
    "finish_reason":null}],"usage":null}

    data: {"choices":[{"index":0,"delta":{"content":"Guten "},"finish_reason":null}]}

    data: {"choices":[{"index":0,"delta":{"content":"Tag 😀"},"finish_reason":null}]}

    data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

    data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}

    data: [DONE]


    """

  private func read(
    _ text: String, status: Int = 200, size: Int = 1 << 20, retryAfter: Int64 = 0
  ) -> (text: String, reader: CompletionReader) {
    var reader = CompletionReader()
    var answer = ""
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      answer += reader.push(Array(bytes[start..<min(start + size, bytes.count)]), status: status)
    }
    reader.end(status: status, retryAfterSeconds: retryAfter)
    return (answer, reader)
  }

  @Test("text, usage and end are the same however the bytes are split")
  func splits() {
    for size in 1...CompletionReaderTests.whole.utf8.count {
      let (text, reader) = read(CompletionReaderTests.whole, size: size)
      #expect(text == "Guten Tag 😀")
      #expect(reader.usage == TokenUsage(prompt: 9, answer: 12))
      #expect(reader.fault == nil && reader.isDone)
    }
  }

  @Test("an answer that ends without finish_reason and [DONE] was cut off, at any byte before")
  func cutOff() {
    let whole = Array(CompletionReaderTests.whole.utf8)
    let text = CompletionReaderTests.whole
    let finish = text.utf8.distance(
      from: text.startIndex, to: text.firstRange(of: "\"stop\"}]}")!.upperBound)
    for count in 1..<whole.count {
      let (_, reader) = read(String(decoding: whole[..<count], as: UTF8.self), size: 64)
      if count < finish {
        #expect(reader.fault == .cutOff || reader.fault == .notAStream, "\(count)")
      } else if count > finish + 1 {
        #expect(reader.fault == nil, "\(count)")
      }
    }
  }

  @Test(
    "a status is a clear fault",
    arguments: [
      (401, #"{"error":{"code":"invalid_api_key"}}"#, CompletionFault.unauthorized(status: 401)),
      (404, #"{"error":{"code":"model_not_found"}}"#, .notFound(code: "model_not_found")),
      (404, "<html>", .notFound(code: nil)),
      (429, #"{"error":{"code":"insufficient_quota"}}"#, .rateLimited(retryAfterSeconds: 7)),
      (
        400, #"{"error":{"type":"invalid_request_error","code":null}}"#,
        .refused(status: 400, code: "invalid_request_error")
      ),
      (400, #"{"error":{"code":"sk-SECRET key"}}"#, .refused(status: 400, code: nil)),
      (503, "", .failed(status: 503)), (301, "", .redirected(status: 301)), (204, "", .notAStream),
    ])
  func statuses(status: Int, body: String, fault: CompletionFault) {
    let (text, reader) = read(body, status: status, retryAfter: 7)
    #expect(text.isEmpty && reader.fault == fault)
    #expect(!fault.sentence.contains("SECRET"))
  }

  @Test(
    "what is no stream of completions is a fault, and its text is kept up to there",
    arguments: [
      (#"{"choices":[{"message":{"content":"whole"}}]}"#, "", CompletionFault.notAStream),
      ("<html>\n\n</html>\n\n", "", .notAStream), ("", "", .notAStream),
      (
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: rubbish\n\n", "a",
        .malformed
      ),
      ("data: [1]\n\n", "", .malformed), ("data: {\"a\":\"\\ud800\"}\n\n", "", .malformed),
      (
        "data: {\"error\":{\"message\":\"x\",\"type\":\"server_error\"}}\n\n", "",
        .ended(code: "server_error")
      ),
    ])
  func rubbish(body: String, text: String, fault: CompletionFault) {
    let (found, reader) = read(body, size: 5)
    #expect(found == text && reader.fault == fault)
  }

  @Test("unusual members do no harm: other types, unbelievable usage, no choices")
  func unusual() {
    let (text, reader) = read(
      """
      data: {"choices":[{"delta":{"content":7}}],"usage":{"prompt_tokens":-1,"completion_tokens":2}}

      data: {"choices":{},"usage":{"prompt_tokens":1e99,"completion_tokens":2}}

      data: {"choices":[7,{"delta":{"content":"second"}}]}

      data: {"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}


      """)
    #expect(text == "x" && reader.usage == nil && reader.fault == nil)
  }

  @Test("an answer has a limit in bytes")
  func tooLong() {
    let piece = String(repeating: "x", count: 1_024)
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"\(piece)\"}}]}\n\n"
    let (text, reader) = read(String(repeating: chunk, count: 17))
    #expect(text.utf8.count == CompletionReader.textBytesMax && reader.fault == .tooLong)
    let (_, endless) = read(String(repeating: "x", count: EventStream.dataBytesMax + 1))
    #expect(endless.fault == .notAStream)
  }

  @Test("tokens are estimated from bytes, rounded up")
  func estimates() {
    #expect([0, 1, 3, 4, 300].map { TokenUsage.estimate(bytes: $0) } == [0, 1, 1, 2, 100])
  }
}
