/// A YAML file of options and thresholds for one command. It is expanded to arguments before
/// parsing, so it can set exactly what the command line can.
import ArgumentParser
import Foundation
import Yams

/// All errors in a profile, each a sentence with its line.
struct ProfileFault: Error, Equatable, CustomStringConvertible {
  var problems: [String]
  var description: String { problems.joined(separator: "\n") }
}

struct Profile {
  /// One option: a value, a list, or a flag.
  struct Setting: Equatable {
    var name: String
    var values: [String]
    var line: Int
  }

  private(set) var command: String?
  private(set) var title: String?
  private(set) var settings: [Setting] = []
  private(set) var thresholds: [Threshold] = []
  private var problems: [String] = []
  private let path: String

  private static let keys = ["command", "title", "options", "thresholds"]
  private static let bytesMax = 1 << 20

  init(file: String) throws(ProfileFault) {
    let path = Profile.place(of: file)
    guard let data = FileManager.default.contents(atPath: path), data.count <= Profile.bytesMax
    else { throw ProfileFault(problems: ["the profile \(file) cannot be read"]) }
    try self.init(text: String(decoding: data, as: UTF8.self), path: path)
  }

  /// `smoke` is short for LoadTests/Scenarios/smoke.yaml.
  private static func place(of file: String) -> String {
    let scenario = "LoadTests/Scenarios/\(file).yaml"
    return !file.contains("/") && !FileManager.default.fileExists(atPath: file)
      && FileManager.default.fileExists(atPath: scenario) ? scenario : file
  }

  init(text: String, path: String) throws(ProfileFault) {
    self.path = path
    let root: Node?
    do {
      root = try Yams.compose(yaml: text)
    } catch {
      throw ProfileFault(problems: ["\(path): invalid YAML: \(error)"])
    }
    guard let root else { throw ProfileFault(problems: ["\(path): the file is empty"]) }
    for (key, value) in pairs(root, of: "the profile") {
      switch key.text {
      case "command": command = scalar(value, "command")
      case "title": title = scalar(value, "title")
      case "options": for (name, value) in pairs(value, of: "options") { setting(name, value) }
      case "thresholds":
        for (figure, value) in pairs(value, of: "thresholds") { threshold(figure, value) }
      default:
        note(
          key.line,
          "unknown key \(key.text)" + suggestion(key.text, among: Profile.keys)
            + "; a profile has \(Profile.keys.joined(separator: ", "))")
      }
    }
    guard problems.isEmpty else { throw ProfileFault(problems: problems) }
  }

  // MARK: Reading

  private typealias Key = (text: String, line: Int)

  private mutating func note(_ line: Int, _ sentence: String) {
    problems.append("\(path):\(line): \(sentence)")
  }

  private mutating func pairs(_ node: Node, of name: String) -> [(Key, Node)] {
    guard let mapping = node.mapping else {
      note(node.line, "\(name) must be names with values, such as \"visitors: 100\"")
      return []
    }
    return mapping.map { key, value in
      ((text: key.scalar?.string ?? "?", line: key.line), value)
    }
  }

  private mutating func scalar(_ node: Node, _ name: String) -> String? {
    if let scalar = node.scalar { return scalar.string }
    note(node.line, "\(name) must be one value")
    return nil
  }

  private mutating func setting(_ key: Key, _ node: Node) {
    let name = key.text.replacing("_", with: "-")
    let values: [String?] =
      node.sequence.map { list in list.map { $0.scalar?.string } } ?? [node.scalar?.string]
    if values.contains(where: { $0 == nil }) {
      return note(key.line, "\(key.text) must be one value, or a list of them")
    }
    settings.append(Setting(name: name, values: values.compactMap { $0 }, line: key.line))
  }

  private mutating func threshold(_ key: Key, _ node: Node) {
    guard let condition = scalar(node, key.text) else { return }
    do {
      thresholds.append(try Threshold(figure: key.text, condition: condition))
    } catch {
      note(key.line, "\(error)")
    }
  }

  // MARK: Arguments

  /// The arguments, preceded by those of the profile if there is a `--profile`. Options on the
  /// command line override the profile's.
  static func expand(
    _ arguments: [String], commands: [any ParsableCommand.Type]
  ) throws(ProfileFault) -> [String] {
    guard let file = value(of: "profile", in: arguments) else { return arguments }
    let profile = try Profile(file: file)
    let shapes = commands.map { CommandShape($0) }
    let given = arguments.first.flatMap { first in shapes.first { $0.name == first } }
    guard let shape = given ?? shapes.first(where: { $0.name == profile.command }) else {
      let name = profile.command ?? ""
      throw ProfileFault(problems: [
        "\(profile.path): "
          + (name.isEmpty ? "command is missing" : "unknown command \(name)")
          + suggestion(name, among: shapes.map(\.name))
      ])
    }
    if let command = profile.command, command != shape.name {
      throw ProfileFault(problems: [
        "\(profile.path) is for the command \(command), not for \(shape.name)"
      ])
    }
    let own = given == nil ? arguments : Array(arguments.dropFirst())
    return [shape.name] + (try profile.arguments(for: shape, beside: own)) + own
  }

  func arguments(for shape: CommandShape, beside own: [String]) throws(ProfileFault) -> [String] {
    var copy = self
    var result: [String] = []
    let overridden = shape.names(in: own)
    for setting in settings {
      guard let option = shape.option(setting.name) else {
        copy.note(
          setting.line,
          "\(shape.name) has no option \(setting.name)"
            + suggestion(setting.name, among: shape.options.map(\.name)))
        continue
      }
      if let fault = option.fault(setting.values) {
        copy.note(setting.line, "\(setting.name) \(fault)")
      } else if !overridden.contains(option.name) {
        result += option.arguments(setting.values)
      }
    }
    guard copy.problems.isEmpty else { throw ProfileFault(problems: copy.problems) }
    if let title, !overridden.contains("title") { result.append("--title=\(title)") }
    // A threshold on the command line overrides the profile's for the same figure.
    let limited = Profile.values(of: "threshold", in: own).compactMap {
      (try? Threshold($0))?.figure
    }
    for threshold in thresholds where !limited.contains(threshold.figure) {
      result.append("--threshold=\(threshold.text)")
    }
    return result
  }

  private static func value(of name: String, in arguments: [String]) -> String? {
    values(of: name, in: arguments).last
  }

  private static func values(of name: String, in arguments: [String]) -> [String] {
    var values: [String] = []
    for (index, argument) in arguments.enumerated() {
      if argument == "--" { break }
      if argument.hasPrefix("--\(name)=") {
        values.append(String(argument.dropFirst(name.count + 3)))
      }
      if argument == "--\(name)", index + 1 < arguments.count {
        values.append(arguments[index + 1])
      }
    }
    return values
  }
}

extension Node {
  /// Counted from 1.
  fileprivate var line: Int { mark?.line ?? 1 }
}

private func suggestion(_ name: String, among names: [String]) -> String {
  nearest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
}
