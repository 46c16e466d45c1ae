/// The layers: Package.swift lists targets from the lowest to the highest, and each depends only on
/// targets above it in the list.
import Foundation
import Testing

@Suite struct ImportTests {
  /// A target of Package.swift with the targets and products that it declares.
  struct Target: Sendable {
    var name: String
    var dependencies: [String]
  }

  /// `layer("Name", ["A", …])`, `.executableTarget(name: "Name", dependencies: […])` and the C
  /// targets, in order.
  static let targets: [Target] = {
    let text =
      SourceFile.all.first { $0.path == "Package.swift" }?.lines.joined(separator: "\n") ?? ""
    let start = text.range(of: "  targets: [")?.upperBound ?? text.endIndex
    let declaration = /(?:layer\(|[tT]arget\(|systemLibrary\()\s*(?:name: )?"([^"]+)"/
    var targets: [Target] = []
    let matches = text[start...].matches(of: declaration)
    for (index, match) in matches.enumerated() {
      let end = index + 1 < matches.count ? matches[index + 1].range.lowerBound : text.endIndex
      let body = text[match.range.upperBound..<end]
      let list = body.split(separator: "[", maxSplits: 1).dropFirst().first ?? ""
      let names = list.prefix { $0 != "]" }.matches(of: /(?:^|[\s,(])(?:name: )?"([A-Za-z]+)"/)
      targets.append(Target(name: String(match.1), dependencies: names.map { String($0.1) }))
    }
    return targets
  }()

  static let cModules = [
    "CLinux": "Kernel", "COpenSSL": "OpenSSL", "CLibpq": "Postgres", "CMigrations": "Migrator",
    "CCommonPasswords": "Directory",
    "WebAssets": "Gateway", "CZlib": "Compression", "CCurl": "HTTPClient",
  ]

  /// (folder of the target, file, imported module), for each import below Sources and LoadTests.
  static let imports: [(target: String, path: String, module: String)] = SourceFile.swift.flatMap {
    file in
    let isHarness = file.path.hasPrefix("LoadTests/Harness/")
    guard isHarness || file.path.hasPrefix("Sources/") else { return [(String, String, String)]() }
    let target = isHarness ? "chirrup-load" : String(file.folders[1])
    return file.lines.compactMap { line in
      guard line.contains("import "),
        let match = line.firstMatch(of: /^(?:@\w+ )*(?:public |package )?import (?:\w+ )?(\w+)/)
      else { return nil }
      return (target, file.path, String(match.1))
    }
  }

  @Test("Package.swift is parsed")
  func reading() {
    let names = Self.targets.map(\.name)
    #expect(names.contains("Primitives") && names.contains("Gateway") && names.contains("chirrup"))
    #expect(
      Self.targets.first { $0.name == "Engine" }?.dependencies
        == ["Primitives", "JSON", "Wire", "Chat", "Compression"])
    #expect(Self.imports.count > 20)
  }

  @Test("a target depends only on targets above it")
  func order() throws {
    let names = Self.targets.map(\.name)
    for (index, target) in Self.targets.enumerated() {
      for dependency in target.dependencies {
        if let position = names.firstIndex(of: dependency) {
          #expect(position < index, "\(target.name) depends on \(dependency), which comes later")
        }
      }
    }
  }

  @Test("every import is declared")
  func declared() {
    let names = Set(Self.targets.map(\.name))
    for use in Self.imports where names.contains(use.module) {
      let target = Self.targets.first { $0.name == use.target }
      #expect(
        target?.dependencies.contains(use.module) == true, "\(use.path) imports \(use.module)")
    }
  }

  @Test("each C module has one Swift importer", arguments: Array(cModules))
  func cModule(module: String, importer: String) {
    let importers = Set(Self.imports.filter { $0.module == module }.map(\.target))
    #expect(importers.subtracting([importer]).isEmpty)
  }

  @Test("only the command line imports the gateway")
  func gateway() {
    #expect(
      Set(Self.imports.filter { $0.module == "Gateway" }.map(\.target)).subtracting(["chirrup"])
        .isEmpty)
  }

  @Test(
    "the pure targets import no operating system",
    arguments: ["Primitives", "JSON", "Wire", "Chat", "Compression", "Engine"])
  func pure(target: String) {
    let foreign = [
      "Foundation", "FoundationEssentials", "Glibc", "Dispatch", "Synchronization", "Logging",
    ]
    let uses = Self.imports.filter { $0.target == target && foreign.contains($0.module) }
    #expect(uses.isEmpty, "\(uses.map { "\($0.path) imports \($0.module)" })")
  }

  @Test("no target of the gateway imports Foundation")
  func foundation() {
    let uses = Self.imports.filter {
      $0.module.hasPrefix("Foundation") && $0.target != "chirrup-load"
    }
    #expect(uses.isEmpty, "\(uses.map(\.path))")
  }
}
