/// The versions of all Swift packages, which a committed Package.resolved would otherwise fix.
import Foundation
import Testing

@Suite struct PackageVersionTests {
  /// The pins that `swift build` has written.
  private struct Resolved: Decodable {
    struct Pin: Decodable {
      struct State: Decodable { var version: String? }
      var identity: String
      var state: State
    }
    var pins: [Pin]
  }

  private static let listed: [String: String] = {
    let lines = SourceFile.all.first { $0.path == "scripts/swift-packages.txt" }?.lines ?? []
    let pairs = lines.filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
    return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
  }()

  @Test("a build has the versions that scripts/swift-packages.txt lists, and no other package")
  func versions() throws {
    let file = SourceFile.packageDirectory.appending(path: "Package.resolved")
    let pins = try JSONDecoder().decode(Resolved.self, from: Data(contentsOf: file)).pins
    let resolved = Dictionary(
      uniqueKeysWithValues: pins.map { ($0.identity, $0.state.version ?? "no version") })
    #expect(
      resolved == Self.listed,
      "swift package resolve NAME --version VERSION pins a listed version in Package.resolved")
  }

  @Test("Package.swift requires the listed version of each package that it names")
  func requirements() throws {
    let package = try #require(SourceFile.all.first { $0.path == "Package.swift" })
    let named = package.lines.compactMap {
      $0.firstMatch(of: /\.package\(url: "[^"]*\/([^"\/]+)", exact: "([^"]+)"/)
    }
    #expect(named.count == package.lines.count { $0.contains(".package(") } && !named.isEmpty)
    for match in named {
      #expect(Self.listed[match.1.lowercased()] == String(match.2), "\(match.1)")
    }
  }
}
