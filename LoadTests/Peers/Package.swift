// swift-tools-version: 6.2

// The servers that the gateway is compared with: a separate package, so that the gateway's build
// does not depend on SwiftNIO.
import PackageDescription

let package = Package(
  name: "peers",
  dependencies: [.package(url: "https://github.com/apple/swift-nio", exact: "2.101.2")],
  targets: [
    .executableTarget(
      name: "bare-peer", cSettings: [.unsafeFlags(["-O2", "-Wall", "-Wextra", "-Werror"])]),
    .executableTarget(
      name: "nio-peer",
      dependencies: [
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
      ]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c2x
)
