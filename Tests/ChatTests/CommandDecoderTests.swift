import Chat
import JSON
import Primitives
import Testing

/// The commands of a message, or the fault that ended the decoding.
private func read(_ text: String) -> [Result<Command, CommandFault>] {
  var results: [Result<Command, CommandFault>] = []
  Array(text.utf8).withRawSpan { bytes in
    var decoder = CommandDecoder()
    while results.count < 100 {
      do throws(CommandFault) {
        guard let command = try decoder.next(bytes) else { return }
        results.append(.success(command))
      } catch {
        results.append(.failure(error))
        decoder.skipLine(bytes)
      }
    }
  }
  return results
}

private func one(_ text: String) throws -> Command { try #require(read(text).first).get() }

private func fault(_ text: String) -> CommandFault? {
  if case .failure(let fault) = read(text).first { fault } else { nil }
}

@Suite("Commands of chirrup.v1")
struct CommandDecoderTests {
  let id = "0191f3c4-5b6a-7def-8123-456789abcdef"

  @Test("every field is read in any order, and unknown ones are skipped")
  func fields() throws {
    let command = try one(
      #"""
      {"x":{"deep":[1,{"y":null}]},"session":"\#(id)","id":"\#(id)","body":"hi","kind":"note",
       "payload":{"a":1},"after":9,"before":8,"tail":7,"limit":6,"seq":5,"active":true,
       "inbox":false,"preview":"p","epoch":"e","token":"t","subscribe":[],"ref":"r","type":"send"}
      """#)
    #expect(command.type == .send)
    #expect(command.session == Identifier(id))
    #expect(command.kind == .note)
    #expect(command.after == 9)
    #expect(command.before == 8)
    #expect(command.tail == 7)
    #expect(command.limit == 6)
    #expect(command.seq == 5)
    #expect(command.active == true)
    #expect(command.inbox == false)
    #expect(command.body != nil && command.payload != nil && command.subscriptions != nil)
    var ref: [UInt8] = []
    command.ref.append(to: &ref)
    #expect(String(decoding: ref, as: UTF8.self) == #""r""#)
  }

  @Test("several objects in one message are separated by line feeds")
  func lines() {
    #expect(read("{\"type\":\"pong\"}\n{\"type\":\"pong\"}\n").count == 2)
    #expect(fault("{\"type\":\"pong\"}{\"type\":\"pong\"}") == .json(.syntax))
  }

  @Test(
    "anything but a JSON object is refused (faults P01)",
    arguments: [
      "null", "[]", "\"x\"", "1", "{", "{}x", "\u{FEFF}{}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
      "{'a':1}", "{\"a\":01}", "{\"a\":+1}", "{\"a\":.5}", "{\"a\":\"\u{1}\"}", "{\"a\":\"\\x\"}",
      "{\"a\":\"\\u12g4\"}", "{\"a\":tru}", "{\"a\":1 2}", "{\"a\":\"x}",
    ])
  func syntax(_ text: String) {
    #expect(fault(text) != nil)
  }

  @Test("an empty object and one of an unknown type have no type")
  func noType() throws {
    #expect(try one("{}").type == nil)
    #expect(try one(#"{"type":"nonsense"}"#).type == nil)
  }

  @Test("deeper nesting than the limit is refused, and limits the recursion (P03)")
  func depth() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(fault(#"{"x":"# + deep) == .json(.tooDeep))
    let objects = String(repeating: #"{"a":"#, count: 100_000)
    #expect(fault(objects) == .json(.tooDeep))
    let most = String(repeating: "[", count: JSONScanner.depthMax - 1)
    let close = String(repeating: "]", count: JSONScanner.depthMax - 1)
    #expect(fault(#"{"x":"# + most + close + "}") == nil)
    #expect(fault(#"{"x":["# + most + close + "]}") == .json(.tooDeep))
  }

  @Test("more keys than the limit are refused (P06), and the last of equal keys counts")
  func keys() throws {
    func object(_ count: Int) -> String {
      "{" + (0..<count).map { "\"k\($0)\":1" }.joined(separator: ",") + "}"
    }
    #expect(fault(object(JSONScanner.keysMax)) == nil)
    #expect(fault(object(JSONScanner.keysMax + 1)) == .json(.tooManyKeys))
    #expect(try one(#"{"seq":1,"seq":2,"__proto__":3}"#).seq == 2)
  }

  @Test(
    "values other than integers from 0 to 2^53 − 1 are refused with the field's name (P05)",
    arguments: [
      "1.5", "1e400", "-0", "-1", "9007199254740992", "9223372036854775808", "1e-5", "1.0",
      "123456789012345678901234567890", "\"1\"", "true", "[]", "{}",
    ])
  func numbers(_ number: String) {
    #expect(fault(#"{"seq":\#(number)}"#) == .field(.seq))
  }

  @Test("the largest integer is read exactly")
  func greatest() throws {
    #expect(try one(#"{"after":9007199254740991}"#).after == CommandDecoder.integerMax)
  }

  @Test(
    "a value of the wrong type is refused with the field's name, and ref is still read (P04)",
    arguments: [
      (#""type":1"#, CommandFault.Field.type), (#""session":"x""#, .session), (#""id":5"#, .id),
      (#""kind":"x""#, .kind), (#""body":{}"#, .body), (#""payload":[]"#, .payload),
      (#""token":1"#, .token), (#""preview":1"#, .preview), (#""epoch":[]"#, .epoch),
      (#""subscribe":{}"#, .subscribe), (#""active":"yes""#, .active), (#""inbox":1"#, .inbox),
    ])
  func types(_ pair: (String, CommandFault.Field)) {
    let text = Array("{\(pair.0),\"ref\":42}".utf8)
    text.withRawSpan { bytes in
      var decoder = CommandDecoder()
      do throws(CommandFault) {
        _ = try decoder.next(bytes)
        Issue.record("a wrong type was accepted")
      } catch {
        #expect(error == .field(pair.1))
        #expect(!decoder.ref.isEmpty)
      }
    }
  }

  @Test("null is the same as a missing field")
  func null() throws {
    let command = try one(
      #"{"type":"send","session":null,"after":null,"body":null,"payload":null}"#)
    #expect(command.session == nil && command.after == nil && command.body == nil)
  }

  @Test(
    "an element of hello.subscribe needs a session",
    arguments: [#"[{"session":null}]"#, #"[{"ref":1}]"#, #"[{}]"#])
  func subscriptions(list: String) {
    let text = Array(#"{"type":"hello","subscribe":\#(list)}"#.utf8)
    text.withRawSpan { bytes in
      var decoder = CommandDecoder()
      do throws(CommandFault) {
        guard let found = try decoder.next(bytes)?.subscriptions else {
          Issue.record("the list was not read")
          return
        }
        try CommandDecoder.subscriptions(of: found, in: bytes) { _ in }
        Issue.record("an element without a session was accepted")
      } catch {
        #expect(error == .field(.session))
      }
    }
  }

  @Test("a ref is a string of at most 64 bytes or an integer")
  func references() {
    #expect(Limits.referenceBytes == 64)
    #expect(fault(#"{"ref":"\#(String(repeating: "r", count: 64))"}"#) == nil)
    #expect(fault(#"{"ref":"\#(String(repeating: "r", count: 65))"}"#) == .field(.ref))
    #expect(fault(#"{"ref":"0199c5a2-7be1-7d40-9c55-3f0e8a61b204"}"#) == nil)
    #expect(fault(#"{"ref":-9007199254740991}"#) == nil)
    #expect(fault(#"{"ref":1.5}"#) == .field(.ref))
    #expect(fault(#"{"ref":{}}"#) == .field(.ref))
  }
}
