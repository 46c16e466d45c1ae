public import JSON
import Primitives

/// Decodes the commands of one text message: one or more JSON objects, separated by line feeds.
///
/// The last of several equal keys counts; unknown keys are skipped. Integers are at most 2^53 − 1,
/// which JavaScript represents exactly. After a fault in one object, `skipLine` continues with the
/// next line.
public struct CommandDecoder {
  private var scanner = JSONScanner()
  /// The `ref` of the last object, if it could be read, for the answer to a faulty command.
  public private(set) var ref = Reference.none

  /// The range of the last command in the message.
  public private(set) var range = 0..<0

  public static let integerMax: Int64 = 9_007_199_254_740_991

  public init() {}

  /// The next command, or nil at the end of the message.
  public mutating func next(_ text: RawSpan) throws(CommandFault) -> Command? {
    ref = .none
    scanner.skipSpace(text)
    if scanner.isAtEnd(text) { return nil }
    let start = scanner.offset
    guard scanner.accept(UInt8(ascii: "{"), text) else { throw .notAnObject }
    var command = Command()
    var fault: CommandFault?
    do throws(JSONScanner.Fault) {
      try readFields(text, into: &command, fault: &fault)
    } catch {
      throw .json(error)
    }
    ref = command.ref
    range = start..<scanner.offset
    // Only white space may follow an object in its line.
    try endLine(text)
    if let fault { throw fault }
    return command
  }

  /// Decodes the elements of the array `subscribe` of `hello` by the same rules, each with a
  /// session.
  public static func subscriptions(
    of array: JSONScanner.Token, in text: RawSpan, _ body: (Command) -> Void
  ) throws(CommandFault) {
    let list = text.extracting(array.range)
    var scanner = JSONScanner(offset: 1)
    scanner.skipSpace(list)
    if scanner.accept(UInt8(ascii: "]"), list) { return }
    while true {
      scanner.skipSpace(list)
      guard scanner.accept(UInt8(ascii: "{"), list) else { throw .field(.subscribe) }
      var decoder = CommandDecoder()
      decoder.scanner = scanner
      var command = Command()
      var fault: CommandFault?
      do throws(JSONScanner.Fault) {
        try decoder.readFields(list, into: &command, fault: &fault)
      } catch {
        throw .json(error)
      }
      if let fault { throw fault }
      guard command.session != nil else { throw .field(.session) }
      body(command)
      scanner = decoder.scanner
      scanner.skipSpace(list)
      if scanner.accept(UInt8(ascii: "]"), list) { return }
      guard scanner.accept(UInt8(ascii: ","), list) else { throw .json(.syntax) }
    }
  }

  /// Continues after the next line feed.
  public mutating func skipLine(_ text: RawSpan) {
    var offset = scanner.offset
    while offset < text.byteCount, text.byte(at: offset) != 0x0A { offset += 1 }
    scanner = JSONScanner(offset: min(offset + 1, text.byteCount))
  }

  private mutating func endLine(_ text: RawSpan) throws(CommandFault) {
    var offset = scanner.offset
    while offset < text.byteCount {
      switch text.byte(at: offset) {
      case 0x20, 0x09, 0x0D: offset += 1
      case 0x0A: return
      default: throw .json(.syntax)
      }
    }
  }

  /// Reads up to and including the closing brace. The first faulty field is returned in `fault` and
  /// not thrown, so that a later `ref` is still read.
  private mutating func readFields(
    _ text: RawSpan, into command: inout Command, fault: inout CommandFault?
  ) throws(JSONScanner.Fault) {
    scanner.skipSpace(text)
    if scanner.accept(UInt8(ascii: "}"), text) { return }
    var keys = 0
    while true {
      keys += 1
      guard keys <= JSONScanner.keysMax else { throw .tooManyKeys }
      let key = try scanner.key(text)
      let value = try scanner.value(text, depth: 1)
      do throws(CommandFault) {
        try read(text.extracting(key.range), value, text, into: &command)
      } catch {
        if fault == nil { fault = error }
      }
      scanner.skipSpace(text)
      if scanner.accept(UInt8(ascii: "}"), text) { return }
      guard scanner.accept(UInt8(ascii: ","), text) else { throw .syntax }
    }
  }

  private func read(
    _ key: RawSpan, _ value: JSONScanner.Token, _ text: RawSpan, into command: inout Command
  ) throws(CommandFault) {
    switch key.byteCount {
    case 2 where key.equals("id"): command.id = try identifier(value, text, .id)
    case 3 where key.equals("ref"): command.ref = try reference(value, text)
    case 3 where key.equals("seq"): command.seq = try integer(value, text, .seq)
    case 4 where key.equals("type"): command.type = try type(value, text)
    case 4 where key.equals("body"): command.body = try string(value, .body)
    case 4 where key.equals("kind"): command.kind = try kind(value, text)
    case 4 where key.equals("tail"): command.tail = try integer(value, text, .tail)
    case 5 where key.equals("after"): command.after = try integer(value, text, .after)
    case 5 where key.equals("limit"): command.limit = try integer(value, text, .limit)
    case 5 where key.equals("token"): command.token = try string(value, .token)
    case 5 where key.equals("epoch"): command.epoch = try string(value, .epoch)
    case 5 where key.equals("inbox"): command.inbox = try bool(value, .inbox)
    case 6 where key.equals("active"): command.active = try bool(value, .active)
    case 6 where key.equals("before"): command.before = try integer(value, text, .before)
    case 7 where key.equals("session"): command.session = try identifier(value, text, .session)
    case 7 where key.equals("preview"): command.preview = try string(value, .preview)
    case 7 where key.equals("payload"):
      if value.kind == .null { return }
      guard value.kind == .object else { throw .field(.payload) }
      command.payload = value
    case 9 where key.equals("available"):
      command.available = try bool(value, .available)
    case 9 where key.equals("subscribe"):
      if value.kind == .null { return }
      guard value.kind == .array else { throw .field(.subscribe) }
      command.subscriptions = value
    default: return
    }
  }

  private func string(
    _ value: JSONScanner.Token, _ field: CommandFault.Field
  ) throws(CommandFault) -> JSONScanner.Token? {
    if value.kind == .null { return nil }
    guard value.kind == .string else { throw .field(field) }
    return value
  }

  private func bool(
    _ value: JSONScanner.Token, _ field: CommandFault.Field
  ) throws(CommandFault) -> Bool? {
    switch value.kind {
    case .true_: true
    case .false_: false
    case .null: nil
    default: throw .field(field)
    }
  }

  private func identifier(
    _ value: JSONScanner.Token, _ text: RawSpan, _ field: CommandFault.Field
  ) throws(CommandFault) -> Identifier? {
    if value.kind == .null { return nil }
    guard value.kind == .string, let id = Identifier(text: text.extracting(value.range)) else {
      throw .field(field)
    }
    return id
  }

  /// An integer from 0 to 2^53 − 1 without fraction, exponent or sign.
  private func integer(
    _ value: JSONScanner.Token, _ text: RawSpan, _ field: CommandFault.Field
  ) throws(CommandFault) -> Int64? {
    if value.kind == .null { return nil }
    guard value.kind == .number, value.range.count <= 16 else { throw .field(field) }
    var number: Int64 = 0
    for offset in value.range {
      let byte = text.byte(at: offset)
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw .field(field) }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    guard number <= CommandDecoder.integerMax else { throw .field(field) }
    return number
  }

  private func type(
    _ value: JSONScanner.Token, _ text: RawSpan
  ) throws(CommandFault) -> CommandType? {
    guard value.kind == .string else { throw .field(.type) }
    return CommandType(text: text.extracting(value.range))
  }

  private func kind(_ value: JSONScanner.Token, _ text: RawSpan) throws(CommandFault) -> EntryKind?
  {
    if value.kind == .null { return nil }
    guard value.kind == .string, let kind = EntryKind(text: text.extracting(value.range)) else {
      throw .field(.kind)
    }
    return kind
  }

  private func reference(
    _ value: JSONScanner.Token, _ text: RawSpan
  ) throws(CommandFault) -> Reference {
    switch value.kind {
    case .null: return .none
    case .string:
      guard value.range.count <= Limits.referenceBytes,
        let ref = Reference(
          token: text.extracting((value.range.lowerBound - 1)..<(value.range.upperBound + 1)))
      else { throw .field(.ref) }
      return ref
    case .number:
      for offset in value.range {
        let byte = text.byte(at: offset)
        let isSign = byte == UInt8(ascii: "-") && offset == value.range.lowerBound
        guard isSign || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) else {
          throw .field(.ref)
        }
      }
      guard value.range.count <= 20, let ref = Reference(token: text.extracting(value.range)) else {
        throw .field(.ref)
      }
      return ref
    default: throw .field(.ref)
    }
  }
}
