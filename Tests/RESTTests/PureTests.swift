import Conversations
import Directory
import DomainFixtures
import Foundation
import JSON
import Postgres
import Primitives
import Testing

@testable import REST

@Suite struct BodyMemberTests {
  func object(_ text: String) throws -> JSONObject { try JSONObject(Array(text.utf8)) }

  @Test("members are read by name; of duplicates the last counts")
  func members() throws {
    let json = try object(
      #" {"a":"x","b":true,"c":null,"d":{"n":1.50,"m":[1e5]},"a":"\u00e9\ud83d\ude00\n","#
        + #""id":"0190F0E1-2345-7abc-8def-0123456789AB"} "#)
    #expect(try json.string("a", bytesMax: 100) == "é😀\n")
    #expect(try json.bool("b") == true)
    #expect(try json.string("c", bytesMax: 1) == nil)
    #expect(try json.string("missing", bytesMax: 1) == nil)
    let nested = try json.object("d", bytesMax: 100)
    #expect(nested == Array(#"{"n":1.50,"m":[1e5]}"#.utf8))
    #expect(
      try json.identifier("id")?.description == "0190f0e1-2345-7abc-8def-0123456789ab")
  }

  @Test(
    "a value of a wrong type is refused by name",
    arguments: ["1", "1.5", "1e400", "-0", "9223372036854775808", "[]", "{}", "true"])
  func wrongTypes(value: String) throws {
    let json = try object("{\"text\":\(value)}")
    #expect(throws: Problem.self) { try json.string("text", bytesMax: 10) }
    #expect(throws: Problem.self) { try json.identifier("text") }
    if value != "true" { #expect(throws: Problem.self) { try json.bool("text") } }
    if value != "{}" { #expect(throws: Problem.self) { try json.object("text", bytesMax: 10) } }
  }

  @Test(
    "text that PostgreSQL cannot store is refused at any depth",
    arguments: [
      #"\u0000"#, #"\ud800"#, #"\udc00"#, #"\ud800\ud800"#, #"\ud83dx"#, #"\ud83d\n"#,
      #"\udc00\ud83d"#,
    ])
  func unstorable(text: String) throws {
    let json = try object(#"{"s":"\#(text)","o":{"list":["\#(text)"]},"k":{"\#(text)":1}}"#)
    #expect(throws: Problem.self) { try json.string("s", bytesMax: 100) }
    #expect(throws: Problem.self) { try json.object("o", bytesMax: 100) }
    #expect(throws: Problem.self) { try json.object("k", bytesMax: 100) }
  }

  @Test(
    "similar escapes are stored",
    arguments: [#"\\u0000"#, #"\\ud800"#, #"\ud83d\ude00"#, #"\u0001"#, #"\\\u0041"#])
  func storable(text: String) throws {
    let json = try object(#"{"o":{"list":["\#(text)"]}}"#)
    #expect(throws: Never.self) { try json.object("o", bytesMax: 100) }
  }

  @Test("every cut and every changed byte of a body gives a value or an error, never a trap")
  func damage() throws {
    let text = Array(#"{"a":"\ud83d\ude00é","b":[1,-2.5e3,{"c":null}],"d":true}"#.utf8)
    for end in text.indices { _ = try? JSONObject(Array(text[..<end])) }
    for index in text.indices {
      for byte: UInt8 in 0...255 {
        var changed = text
        changed[index] = byte
        guard let json = try? JSONObject(changed) else { continue }
        _ = try? json.string("a", bytesMax: 100)
        _ = try? json.object("b", bytesMax: 100)
      }
    }
  }
}

@Suite struct CuttingTests {
  @Test("a text is cut between characters")
  func cutting() {
    #expect(cut("abc", bytesMax: 3) == "abc")
    #expect(cut("abcd", bytesMax: 3) == "abc")
    #expect(cut("aé", bytesMax: 2) == "a")
    #expect(cut("aé!", bytesMax: 3) == "aé")
    #expect(cut("😀😀", bytesMax: 7) == "😀")
    #expect(cut("😀", bytesMax: 3) == "")
  }
}

@Suite struct QueryStringTests {
  @Test("parameters are decoded; empty ones count as missing")
  func decoding() throws {
    let query = try QueryString("q=a%20b+c%C3%A9&empty=&flag&a=1&a=2&x==")
    #expect(query["q"] == "a b cé")
    #expect(query["empty"] == nil)
    #expect(query["flag"] == nil)
    #expect(query["a"] == "2")
    #expect(query["x"] == "=")
  }

  @Test(
    "malformed escapes and texts are refused",
    arguments: ["a=%", "a=%2", "a=%zz", "a=%00", "a=%FF", "a=%ED%A0%80", "%C3=1"])
  func refused(text: String) {
    #expect(throws: Problem.self) { try QueryString(text) }
  }

  @Test("length and number of parameters are limited")
  func bounds() {
    #expect(throws: Problem.self) { try QueryString(String(repeating: "a", count: 4_097)) }
    #expect(throws: Problem.self) { try QueryString(String(repeating: "a=1&", count: 33)) }
  }

  @Test(
    "numbers outside their range are refused, not clamped",
    arguments: ["-1", "0", "201", "1.5", "1e3", "0x1", " 1", "９", "99999999999999999999"])
  func numbers(text: String) throws {
    let query = try QueryString("n=" + text)
    #expect(throws: Problem.self) { try query.int("n", in: 1...200) }
  }
}
