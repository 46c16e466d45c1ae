/// The output of the command line: the banner, results as JSON, and log lines with text from peers.
import Logging
import Primitives
import Settings
import Testing

@testable import chirrup

@Suite struct CommandLineTests {
  let time = WallTime(microseconds: 1_795_273_387_042_000)

  @Test("the banner's URL can be opened by a browser")
  func addresses() {
    var settings = Settings()
    func url(_ host: String, _ port: UInt16) -> String {
      Banner.url(settings, listening: [ListenAddress(host: host, port: port)])
    }
    #expect(url("127.0.0.1", 8080) == "http://127.0.0.1:8080")
    #expect(url("0.0.0.0", 80) == "http://127.0.0.1:80")
    #expect(url("::", 80) == "http://[::1]:80")
    let secure = [ListenAddress(host: "0.0.0.0", port: 443)]
    #expect(Banner.url(settings, listening: [], secure: secure) == "https://127.0.0.1:443")
    settings.publicURL = "https://chat.example.com"
    #expect(url("0.0.0.0", 80) == "https://chat.example.com")
  }

  @Test("the banner prints the demo's login, without a changed password")
  func banner() {
    let url = "http://127.0.0.1:8080"
    let fresh = Banner.text(url: url, demo: DemoWorkspace(publicKey: "pk_1", password: "abcd"))
    #expect(fresh.contains("demo@example.com / abcd"))
    #expect(fresh.contains("\(url)/widget.js\" data-workspace=\"pk_1\""))
    let changed = Banner.text(url: url, demo: DemoWorkspace(publicKey: "pk_1", password: nil))
    #expect(changed.contains("with the password you have set"))
    #expect(!Banner.text(url: url, demo: nil).contains("/demo"))
  }

  @Test("the demo's password depends only on the signing key")
  func demoPassword() throws {
    let key = [UInt8](repeating: 7, count: 32)
    let password = DemoWorkspace.password(signingKey: key)
    #expect(password == DemoWorkspace.password(signingKey: key))
    #expect(password != DemoWorkspace.password(signingKey: [UInt8](repeating: 8, count: 32)))
    #expect(password.wholeMatch(of: /([a-km-z2-9]{4}-){2}[a-km-z2-9]{4}/) != nil)
  }

  @Test("JSON strings are escaped (RFC 8259 §7)")
  func json() {
    #expect(jsonText("Ada") == "\"Ada\"")
    #expect(jsonText("a\"b\\c\n\u{1}") == "\"a\\\"b\\\\c\\u000a\\u0001\"")
    #expect(jsonText("มานี 🐦") == "\"มานี 🐦\"")
  }

  @Test("text from a peer cannot forge a log line")
  func logLines() {
    let event = LogEvent(
      level: .info, message: "refused\nforged", error: nil, metadata: nil, source: nil,
      file: "", function: "", line: 0)
    let fields: Logger.Metadata = ["origin": "a b\r\n", "loop": "1"]
    #expect(
      LineLogHandler.text(event, fields, at: time)
        == "\(time) info \"refused\\u000aforged\" loop=1 origin=\"a b\\u000d\\u000a\"")
    #expect(
      LineLogHandler.json(event, fields, at: time)
        == "{\"at\":\"\(time)\",\"level\":\"info\",\"message\":\"refused\\u000aforged\","
        + "\"loop\":\"1\",\"origin\":\"a b\\u000d\\u000a\"}")
  }

  @Test("numbers, booleans and lists of a JSON line keep their type")
  func jsonTypes() {
    let event = LogEvent(
      level: .info, message: "m", error: nil, metadata: nil, source: nil, file: "", function: "",
      line: 0)
    let fields: Logger.Metadata = [
      "a": .stringConvertible(Int64(-7)), "b": .stringConvertible(true), "c": .string("7"),
      "d": .array([.string("x"), .stringConvertible(UInt8(2))]),
    ]
    #expect(
      LineLogHandler.text(event, fields, at: time)
        == "\(time) info m a=-7 b=true c=7 d=[x,2]")
    #expect(
      LineLogHandler.json(event, fields, at: time)
        == "{\"at\":\"\(time)\",\"level\":\"info\",\"message\":\"m\",\"a\":-7,\"b\":true,"
        + "\"c\":\"7\",\"d\":[\"x\",2]}")
  }

  @Test("a JSON line that is too long stays JSON")
  func longLine() {
    let event = LogEvent(
      level: .info, message: "\(String(repeating: "\u{1}", count: 5_000))", error: nil,
      metadata: nil, source: nil, file: "", function: "", line: 0)
    let line = LineLogHandler.json(event, ["loop": "1"], at: time)
    #expect(line.utf8.count < 4_095)
    #expect(line.hasSuffix("\\u0001\",\"cut\":true}"))
  }
}
