/// The options of a command, read from its generated help, that a profile may set.
import ArgumentParser
import Foundation

struct CommandShape {
  struct Option {
    enum Kind { case flag, option, positional }

    var name: String
    var kind: Kind
    var isRepeating = false
    var defaultValue: String?
    var choices: [String] = []
    /// The option `--no-NAME`, if it exists.
    var inversion: String?

    /// The error of these values, to follow the option's name; nil if they are valid.
    func fault(_ values: [String]) -> String? {
      if kind == .flag {
        return values.count == 1 && ["true", "false"].contains(values[0])
          ? nil : "must be true or false, not \(quoted(values))"
      }
      guard !values.isEmpty, isRepeating || values.count == 1 else {
        return "must be one value, not \(values.isEmpty ? "none" : "a list")"
      }
      for value in values {
        if !choices.isEmpty, !choices.contains(value) {
          let meant = nearest(to: value, among: choices).map { "; did you mean \($0)?" } ?? ""
          return "must be \(choices.joined(separator: " or ")), not \(quoted([value]))\(meant)"
        }
        // The default's type is the option's type: an integer, a number or a text.
        if let defaultValue, !isRepeating {
          if Int(defaultValue) != nil, Int(value) == nil {
            return "must be a whole number, not \(quoted([value]))"
          }
          if Double(defaultValue) != nil, Double(value) == nil {
            return "must be a number, not \(quoted([value]))"
          }
        }
      }
      return nil
    }

    func arguments(_ values: [String]) -> [String] {
      switch kind {
      case .flag: values == ["true"] ? ["--\(name)"] : inversion.map { ["--\($0)"] } ?? []
      case .option: values.map { "--\(name)=\($0)" }
      case .positional: values
      }
    }

    private func quoted(_ values: [String]) -> String {
      values.map { "\"\($0)\"" }.joined(separator: ", ")
    }
  }

  let name: String
  let options: [Option]
  /// Options that a profile must not set.
  private static let reserved = ["profile", "help", "version", "threshold", "title"]

  init(_ command: any ParsableCommand.Type) {
    name = command.configuration.commandName ?? String(describing: command).lowercased()
    let dump = try? JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8))
    options = (dump?.command.arguments ?? []).compactMap { Option($0) }
      .filter { !CommandShape.reserved.contains($0.name) }
  }

  func option(_ name: String) -> Option? { options.first { $0.name == name } }

  /// The names of the options in the arguments, including a positional one.
  func names(in arguments: [String]) -> Set<String> {
    var names: Set<String> = []
    var isValue = false
    for argument in arguments {
      if isValue {
        isValue = false
        continue
      }
      guard argument.hasPrefix("--") else {
        if let positional = options.first(where: { $0.kind == .positional }) {
          names.insert(positional.name)
        }
        continue
      }
      let name = String(argument.dropFirst(2).prefix { $0 != "=" })
      let known = options.first { $0.name == name || $0.inversion == name }
      names.insert(known?.name ?? name)
      isValue = !argument.contains("=") && known?.kind != .flag
    }
    return names
  }

  // MARK: The JSON of `--experimental-dump-help`

  fileprivate struct Dump: Decodable {
    var command: DumpedCommand
  }

  fileprivate struct DumpedCommand: Decodable {
    var arguments: [DumpedArgument]?
  }

  fileprivate struct DumpedArgument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }

    var kind: String
    var isRepeating: Bool
    var names: [Name]?
    var valueName: String?
    var defaultValue: String?
    var allValues: [String]?
  }
}

extension CommandShape.Option {
  fileprivate init?(_ dumped: CommandShape.DumpedArgument) {
    let names = (dumped.names ?? []).filter { $0.kind == "long" }.map(\.name)
    switch dumped.kind {
    case "flag": kind = .flag
    case "option": kind = .option
    case "positional": kind = .positional
    default: return nil
    }
    guard let name = names.first ?? (kind == .positional ? dumped.valueName : nil) else {
      return nil
    }
    self.name = name
    isRepeating = dumped.isRepeating
    defaultValue = dumped.defaultValue
    choices = dumped.allValues ?? []
    inversion = names.first { $0 == "no-\(name)" }
  }
}
