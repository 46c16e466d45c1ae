/// The sources of settings, by precedence: flags, CHIRRUP_ variables, files of secrets,
/// DATABASE_URL, the YAML file.
///
/// swift-configuration reads each source. A reader over all of them would hide the source and the
/// text of a value, which error messages quote, so the sources are queried one by one for text.
import Configuration
import Synchronization

/// The text of a value, and the name of its source.
struct SourcedText {
  var text: String
  var source: String
}

struct SettingsSources {
  private struct Source {
    var provider: any ConfigProvider
    var prefix: [String]
    var name: @Sendable (SettingKey) -> String
  }

  private var sources: [Source] = []
  /// The path of the YAML file: the given one, or that of CHIRRUP_CONFIG.
  private(set) var file: String?
  /// Keys of the file, and CHIRRUP_ variables, that are no settings.
  private(set) var unknownKeys: [String] = []
  private(set) var unknownVariables: [String] = []
  /// Secrets from files that variables with `_FILE` name, and from systemd's credentials.
  private var secrets: [SettingKey: SourcedText] = [:]
  private(set) var secretProblems: [String] = []

  /// - Parameters:
  ///   - flags: values of the command line.
  ///   - environment: nil: the environment of the process.
  ///   - file: the path of a YAML file, which must exist; nil: the one that CHIRRUP_CONFIG names.
  init(
    flags: [SettingKey: String], environment: [String: String]?, file: String?
  ) async throws(SettingsFault) {
    addFlags(flags)
    addEnvironment(environment)
    self.file = file ?? SettingsSources.text(for: ["chirrup", "config"], in: sources[1].provider)
    if let file = self.file { try await addFile(file) }
  }

  private mutating func addFlags(_ flags: [SettingKey: String]) {
    var values: [AbsoluteConfigKey: ConfigValue] = [:]
    for (key, text) in flags {
      values[AbsoluteConfigKey(key.components)] = ConfigValue(
        .string(text), isSecret: key.isSecret)
    }
    sources.append(
      Source(provider: InMemoryProvider(name: "flags", values: values), prefix: []) { $0.flagName })
  }

  private mutating func addEnvironment(_ environment: [String: String]?) {
    let seen = NameCollector()
    let secrets = SecretsSpecifier<String, String>.dynamic { name, _ in seen.add(name) }
    let provider =
      if let environment {
        EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: secrets)
      } else {
        EnvironmentVariablesProvider(secretsSpecifier: secrets)
      }
    sources.append(Source(provider: provider, prefix: ["chirrup"]) { $0.environmentName })
    // Many hosting platforms set DATABASE_URL; no other variable is read without the prefix.
    sources.append(Source(provider: provider, prefix: []) { _ in "DATABASE_URL" })
    addSecrets(provider)
    let secretNames = SettingKey.allCases.filter(\.isSecret).map(\.fileVariableName)
    let known = Set(SettingKey.allCases.map(\.environmentName) + secretNames + ["CHIRRUP_CONFIG"])
    unknownVariables = seen.names.filter { $0.utf8.starts(with: "CHIRRUP_".utf8) }
      .filter { !known.contains($0) }.sorted()
  }

  /// For each secret: the file that CHIRRUP_…_FILE (or DATABASE_URL_FILE) names, else the file of
  /// the key's name in $CREDENTIALS_DIRECTORY (systemd.exec(5), LoadCredential=).
  private mutating func addSecrets(_ provider: any ConfigProvider) {
    let folder = SettingsSources.text(for: ["credentials", "directory"], in: provider)
    for key in SettingKey.allCases where key.isSecret {
      var named: [(name: String, path: [String])] = [
        (key.fileVariableName, ["chirrup"] + key.components + ["file"])
      ]
      if key == .databaseURL { named.append(("DATABASE_URL_FILE", key.components + ["file"])) }
      for (name, components) in named where secrets[key] == nil {
        let path = SettingsSources.text(for: AbsoluteConfigKey(components), in: provider)
        guard let path, !path.isEmpty else { continue }
        let plainName = String(name.dropLast(5))
        let plain = AbsoluteConfigKey(Array(components.dropLast()))
        if SettingsSources.text(for: plain, in: provider)?.isEmpty == false {
          secretProblems.append("\(plainName) and \(name) are both set; set only one of them")
        }
        add(key, from: path, source: name)
      }
      if secrets[key] == nil, let folder, SecretFile.exists("\(folder)/\(key.rawValue)") {
        add(key, from: "\(folder)/\(key.rawValue)", source: "the credential \(key.rawValue)")
      }
    }
  }

  private mutating func add(_ key: SettingKey, from path: String, source: String) {
    switch SecretFile.read(path) {
    // A list has one value a line, as the rotated keys of credentials_key.
    case .text(let text):
      secrets[key] = SourcedText(
        text: text.split(whereSeparator: \.isNewline).joined(separator: ","), source: source)
    case .fault(let reason): secretProblems.append("\(key.rawValue): \(source): \(path) \(reason)")
    }
  }

  private mutating func addFile(_ path: String) async throws(SettingsFault) {
    let seen = NameCollector()
    let options = YAMLSnapshot.ParsingOptions(
      secretsSpecifier: .dynamic { name, _ in seen.add(name) })
    let location = ConfigReader(
      provider: InMemoryProvider(values: ["filePath": ConfigValue(.string(path), isSecret: false)]))
    do {
      let provider = try await FileProvider<YAMLSnapshot>(
        parsingOptions: options, config: location)
      sources.append(Source(provider: provider, prefix: []) { _ in path })
    } catch {
      throw SettingsFault(problems: ["\(path): cannot be read as a YAML mapping: \(error)"])
    }
    let known = SettingKey.allCases.map(\.rawValue)
    unknownKeys = seen.names.filter { name in
      // A section without keys, all commented out, is read as a key without a value.
      !known.contains { $0 == name || $0.utf8.starts(with: "\(name).".utf8) }
    }.sorted()
  }

  /// The text of the first source that has the key. An empty text, as in `public_url:`, means the
  /// default and is skipped.
  func text(for key: SettingKey) -> SourcedText? {
    for source in sources {
      let name = source.name(key)
      if name == "DATABASE_URL" {
        if let secret = secrets[key] { return secret }
        if key != .databaseURL { continue }
      }
      let path = AbsoluteConfigKey(source.prefix + key.components)
      if let text = SettingsSources.text(for: path, in: source.provider), !text.isEmpty {
        return SourcedText(text: text, source: name)
      }
    }
    return nil
  }

  /// A scalar's text, or a YAML sequence joined by commas, as lists are written in flags and
  /// variables.
  private static func text(
    for path: AbsoluteConfigKey, in provider: any ConfigProvider
  ) -> String? {
    let scalar = try? provider.value(forKey: path, type: .string).value?.content
    if case .string(let text) = scalar { return text }
    let list = try? provider.value(forKey: path, type: .stringArray).value?.content
    if case .stringArray(let texts) = list { return texts.joined(separator: ",") }
    return nil
  }
}

/// Collects all names of a source: swift-configuration calls it for each, to learn whether the
/// value is a secret.
private final class NameCollector: Sendable {
  private let collected = Mutex<Set<String>>([])

  /// Always returns true, so that the library does not log any value.
  func add(_ name: String) -> Bool {
    collected.withLock { _ = $0.insert(name) }
    return true
  }

  var names: Set<String> { collected.withLock { $0 } }
}
