// swift-tools-version: 6.2

// Chirrup: a WebSocket live-chat gateway. The order of the targets below is the order of the
// layers: a target may depend only on targets above it, and scripts/test refuses undeclared
// imports.
import PackageDescription

let strict: [SwiftSetting] = [
  .strictMemorySafety(),  // SE-0458: every unsafe expression is marked and carries its reason
  .enableUpcomingFeature("ExistentialAny"),  // SE-0335
  .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
  .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
  .treatAllWarnings(as: .error),  // SE-0480
]

func layer(
  _ name: String, path: String? = nil, _ dependencies: [Target.Dependency] = []
) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

func suite(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: strict)
}

let package = Package(
  name: "chirrup",
  products: [
    .executable(name: "chirrup", targets: ["chirrup"]),
    .executable(name: "chirrup-load", targets: ["chirrup-load"]),
  ],
  // Exact versions. Package.resolved is not committed: its commit ids are those of the copies from
  // which a machine fetches packages, and others cannot resolve them. Instead the scripts pin the
  // packages of these packages too, to the versions of scripts/swift-packages.txt.
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0", traits: ["YAML"]),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
  ],
  targets: [
    // System libraries: each has exactly one Swift importer.
    .systemLibrary(name: "CLinux", path: "Sources/CLinux"),
    .systemLibrary(name: "CPidfd", path: "LoadTests/CPidfd"),
    .systemLibrary(
      name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "openssl",
      providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CLibpq", path: "Sources/CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(
      name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(
      name: "CCurl", path: "Sources/CCurl", pkgConfig: "libcurl",
      providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CImageCodecs", path: "Sources/CImageCodecs",
      providers: [.apt(["libturbojpeg0-dev", "libpng-dev", "libwebp-dev", "libgif-dev"])]),
    .systemLibrary(name: "CConfinement", path: "Sources/CConfinement"),
    // Loaded at run time by the one process that needs it.
    .systemLibrary(name: "CGMime", path: "Sources/CGMime"),
    // Files embedded by C23 #embed.
    .target(name: "CMigrations", path: "Sources/CMigrations", exclude: ["sql"]),
    .target(
      name: "CCommonPasswords", path: "Sources/CCommonPasswords",
      exclude: ["passwords.bloom", "README.md"]),
    .target(
      name: "WebAssets", path: "Sources/WebAssets",
      exclude: [
        "widget", "console", "shared", "demo", "built", "README.md", "eslint.json",
        "tsconfig.json",
      ]),

    // Pure: no clock, no descriptor, no randomness.
    layer("Primitives"),
    layer("JSON", ["Primitives"]),
    layer("Texts", ["Primitives"]),
    layer("Wire", ["Primitives"]),
    layer("Chat", ["JSON", "Primitives"]),
    layer("Compression", ["CZlib", "Primitives"]),
    layer("Engine", ["Primitives", "JSON", "Wire", "Chat", "Compression"]),

    // The outside world, one target for each part of it.
    layer("Kernel", ["CLinux", "Primitives"]),
    layer("OpenSSL", ["COpenSSL", "Primitives"]),
    layer("Postgres", ["CLibpq", "Primitives"]),
    layer("EmbeddedPostgres", ["Kernel", "Primitives"]),
    layer("SharedSQL", ["Postgres", "Primitives"]),
    layer("Journal", ["SharedSQL", "Postgres", "Chat", "Primitives"]),
    layer("Migrator", ["SharedSQL", "Postgres", "CMigrations", "Primitives"]),
    layer("Tokens", ["Primitives", "JSON", "OpenSSL"]),
    layer(
      "Directory",
      ["CCommonPasswords", "SharedSQL", "Postgres", "OpenSSL", "JSON", "Primitives"]),
    layer("HTTPClient", ["CCurl", "Kernel", "Primitives"]),
    layer("ObjectStorage", ["HTTPClient", "OpenSSL", "Kernel", "Primitives"]),
    layer("VirusScan", ["Kernel", "Primitives"]),
    layer("Confinement", ["CConfinement", "Kernel"]),
    layer("ImageCleaning", ["CImageCodecs", "Confinement", "Kernel"]),
    layer("MailParsing", ["CGMime", "Confinement", "Texts", "Kernel", "JSON", "Primitives"]),
    layer(
      "Attachments",
      [
        "ImageCleaning", "VirusScan", "ObjectStorage", "Directory", "Postgres", "OpenSSL", "Kernel",
        "JSON", "Primitives",
      ]),
    layer(
      "DataRetention",
      [
        "Migrator", "Directory", "SharedSQL", "Postgres", "OpenSSL", "Chat", "Texts", "JSON",
        "Primitives",
      ]),
    layer(
      "Webhooks", ["HTTPClient", "Directory", "Postgres", "OpenSSL", "Kernel", "Primitives"]),
    layer(
      "WebPush",
      [
        "Webhooks", "HTTPClient", "Directory", "SharedSQL", "Postgres", "OpenSSL", "Kernel", "JSON",
        "Primitives",
      ]),
    layer(
      "Mail",
      [
        "Webhooks", "HTTPClient", "Directory", "SharedSQL", "Postgres", "OpenSSL", "Kernel", "JSON",
        "Primitives",
      ]),
    layer(
      "OpenID",
      ["HTTPClient", "Webhooks", "OpenSSL", "Kernel", "JSON", "Primitives"]),
    layer(
      "Assist",
      ["HTTPClient", "Webhooks", "Chat", "Kernel", "JSON", "Primitives"]),
    layer(
      "Automation",
      ["Directory", "SharedSQL", "Chat", "JSON", "Postgres", "OpenSSL", "Primitives"]),
    layer(
      "Conversations",
      [
        "Automation", "Directory", "SharedSQL", "Chat", "Postgres", "Kernel", "JSON", "Primitives",
      ]),
    layer(
      "Channels",
      [
        "Conversations", "Attachments", "Webhooks", "HTTPClient", "Directory", "SharedSQL",
        "Postgres", "OpenSSL", "Kernel", "Chat", "JSON", "Primitives",
      ]),
    layer(
      "IncomingMail",
      [
        "MailParsing", "Mail", "Channels", "Conversations", "Attachments", "Webhooks", "HTTPClient",
        "Directory", "Texts", "Postgres", "OpenSSL", "Kernel", "Chat", "JSON", "Primitives",
      ]),
    layer(
      "REST",
      [
        "Conversations", "OpenID", "Assist", "Mail", "Channels", "WebPush", "Webhooks",
        "HTTPClient", "Automation", "Attachments", "Directory", "Tokens", "Postgres",
        "OpenSSL", "Kernel", "Chat", "Wire", "JSON", "Primitives",
      ]),
    layer(
      "Settings",
      [
        "VirusScan", "ObjectStorage", "Kernel", "Primitives",
        .product(name: "Configuration", package: "swift-configuration"),
      ]),
    layer(
      "Gateway",
      [
        "Engine", "Wire", "Chat", "JSON", "Compression", "Primitives", "Kernel", "OpenSSL",
        "Postgres", "SharedSQL", "Journal",
        "HTTPClient", "Mail", "IncomingMail", "Channels", "WebPush", "Webhooks", "Directory",
        "Attachments",
        "Automation", "Conversations", "REST", "Tokens", "Settings", "WebAssets",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .executableTarget(
      name: "chirrup",
      dependencies: [
        "Gateway", "Migrator", "Attachments", "DataRetention", "EmbeddedPostgres", "Settings",
        "Tokens", "Directory", "Conversations", "SharedSQL", "Postgres", "OpenSSL", "HTTPClient",
        "ObjectStorage", "VirusScan", "ImageCleaning", "MailParsing", "Kernel", "Wire", "Journal",
        "Chat", "JSON", "Primitives",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .executableTarget(
      name: "chirrup-load",
      dependencies: [
        "Wire", "Chat", "Compression", "Kernel", "OpenSSL", "Primitives", "Postgres", "Journal",
        "EmbeddedPostgres", "CPidfd",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "Yams", package: "Yams"),
      ], path: "LoadTests/Harness", swiftSettings: strict),
    // Pieces of the hot path, to be counted (LoadTests/Costs) and timed (LoadTests/Benchmarks).
    .target(
      name: "Workloads", dependencies: ["Engine", "Wire", "Chat", "JSON", "Primitives"],
      path: "LoadTests/Benchmarks/Workloads", swiftSettings: strict),
    .executableTarget(
      name: "chirrup-bench", dependencies: ["Workloads"], path: "LoadTests/Benchmarks/Counted",
      swiftSettings: strict),
    .executableTarget(
      name: "chirrup-simulate",
      dependencies: [
        "Engine", "Journal", "Postgres", "Wire", "Chat", "Primitives",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Tests/Simulation", exclude: ["README.md"], swiftSettings: strict),

    .target(
      name: "Fixtures", dependencies: ["Postgres", "EmbeddedPostgres", "Kernel"],
      path: "Tests/Fixtures", exclude: ["legacy"], swiftSettings: strict),
    .target(
      name: "DomainFixtures",
      dependencies: [
        "Fixtures", "Conversations", "Directory", "SharedSQL", "Chat", "Migrator", "Postgres",
        "EmbeddedPostgres", "OpenSSL", "Kernel", "Primitives",
      ], path: "Tests/DomainFixtures", swiftSettings: strict),

    suite("PrimitivesTests", ["Primitives"]),
    suite("WireTests", ["Wire", "Primitives"]),
    suite("JSONTests", ["JSON", "Primitives"]),
    suite("ChatTests", ["Chat", "JSON", "Primitives"]),
    suite("CompressionTests", ["Compression", "Primitives"]),
    suite("EngineTests", ["Engine", "Wire", "Chat", "Compression", "Primitives"]),
    suite("KernelTests", ["Kernel", "Primitives"]),
    suite("OpenSSLTests", ["OpenSSL", "Primitives"]),
    suite("PostgresTests", ["Postgres", "EmbeddedPostgres", "Primitives"]),
    suite("EmbeddedPostgresTests", ["EmbeddedPostgres", "Postgres", "Primitives"]),
    suite(
      "JournalTests",
      ["Journal", "Postgres", "Migrator", "EmbeddedPostgres", "Fixtures", "Chat", "Primitives"]),
    suite("MigratorTests", ["Migrator", "Postgres", "EmbeddedPostgres", "Fixtures", "Primitives"]),
    suite(
      "DataRetentionTests",
      ["DataRetention", "Directory", "Migrator", "Postgres", "Fixtures", "Texts", "Primitives"]),
    suite("TokensTests", ["Tokens", "Primitives"]),
    suite("HTTPClientTests", ["HTTPClient", "Kernel", "Primitives"]),
    suite("ObjectStorageTests", ["ObjectStorage", "OpenSSL", "Kernel", "Primitives"]),
    suite("VirusScanTests", ["VirusScan", "Kernel", "Primitives"]),
    suite("ImageCleaningTests", ["ImageCleaning", "CImageCodecs", "Kernel", "Primitives"]),
    suite("MailParsingTests", ["MailParsing", "Kernel"]),
    suite(
      "WebhooksTests",
      [
        "Webhooks", "HTTPClient", "Directory", "Postgres", "Migrator", "EmbeddedPostgres",
        "OpenSSL",
        "Kernel", "Primitives",
      ]),
    suite(
      "WebPushTests",
      [
        "WebPush", "Webhooks", "HTTPClient", "DomainFixtures", "Conversations", "Directory",
        "SharedSQL", "Postgres", "OpenSSL", "Kernel", "JSON", "Primitives",
      ]),
    suite(
      "MailTests",
      [
        "Mail", "Webhooks", "HTTPClient", "DomainFixtures", "Conversations", "Directory",
        "Postgres", "OpenSSL", "Kernel", "JSON", "Primitives",
      ]),
    suite(
      "DirectoryTests",
      [
        "DomainFixtures", "Conversations", "Directory", "Postgres", "OpenSSL", "Chat", "JSON",
        "Migrator", "Fixtures", "Primitives",
      ]),
    suite(
      "ChannelsTests",
      [
        "Channels", "Attachments", "HTTPClient", "DomainFixtures", "Conversations", "Directory",
        "Kernel", "Migrator", "Postgres", "Chat", "JSON", "Primitives",
      ]),
    suite(
      "IncomingMailTests",
      [
        "IncomingMail", "MailParsing", "Mail", "Fixtures", "DomainFixtures", "Conversations",
        "Directory", "Postgres", "OpenSSL", "Kernel", "Chat", "JSON", "Primitives",
      ]),
    suite("OpenIDTests", ["OpenID", "Webhooks", "OpenSSL", "Kernel", "JSON", "Primitives"]),
    suite("AssistTests", ["Assist", "Webhooks", "Chat", "Kernel", "JSON", "Primitives"]),
    suite("AutomationTests", ["Automation", "Directory", "JSON", "Primitives"]),
    suite(
      "ConversationsTests",
      [
        "DomainFixtures", "Conversations", "Directory", "Postgres", "Kernel", "Chat", "JSON",
        "Primitives",
      ]),
    suite(
      "AttachmentsTests",
      ["Attachments", "DomainFixtures", "Directory", "Postgres", "Kernel", "Primitives"]),
    suite(
      "RESTTests",
      [
        "REST", "DomainFixtures", "Conversations", "Automation", "OpenID", "WebPush", "Webhooks",
        "Attachments", "Directory",
        "Tokens", "Postgres", "OpenSSL", "Kernel", "Chat", "JSON", "Migrator", "EmbeddedPostgres",
        "Primitives",
      ]),
    suite("SettingsTests", ["Settings", "VirusScan", "ObjectStorage"]),
    suite(
      "GatewayTests",
      [
        "Gateway", "Engine", "REST", "Migrator", "DataRetention", "EmbeddedPostgres", "Fixtures",
        "Conversations", "Directory",
        "Tokens", "Settings", "Postgres", "Kernel", "OpenSSL", "Wire", "Compression", "Primitives",
        "Webhooks", "SharedSQL", "JSON",
        .product(name: "Logging", package: "swift-log"),
      ]),
    suite(
      "LoadTests",
      [
        "chirrup-load", "Workloads", "Kernel", "Wire", "Primitives",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ]),
    suite("WebAssetsTests", ["WebAssets", "Attachments", "Chat", "Wire"]),
    suite(
      "CommandLineTests",
      [
        "chirrup", "Fixtures", "Postgres", "Kernel", "Settings", "Primitives",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    suite("TidyTests", []),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c2x
)

// The build with the thread sanitizer (scripts/test) has the tests of targets that start threads.
if Context.environment["CHIRRUP_THREADS"] != nil {
  let threaded = [
    "Assist", "Automation", "EmbeddedPostgres", "Gateway", "HTTPClient", "Kernel", "OpenID",
    "Postgres", "Primitives", "REST", "WebPush", "Webhooks",
  ].map { "\($0)Tests" }
  package.products = []
  package.targets.removeAll { target in
    target.type == .test
      ? !threaded.contains(target.name)
      : ["chirrup", "chirrup-load", "chirrup-bench", "chirrup-simulate"].contains(target.name)
  }
}
