import Foundation
import OpenSSL

/// Certificates created by the openssl command in a folder of this test run.
enum TestCertificates {
  static let folder: String = {
    let folder = NSTemporaryDirectory() + "chirrup-tls-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: nil)
    return folder
  }()

  static let localhost = make("localhost", names: ["localhost"])
  static let chat = make("chat", names: ["chat.example.com"])
  static let wild = make("wild", names: ["*.example.org", "example.org"])

  static func make(_ file: String, names: [String], isExpired: Bool = false) -> TLSCertificateFiles
  {
    let files = TLSCertificateFiles(chain: "\(folder)/\(file).pem", key: "\(folder)/\(file).key")
    run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-keyout", files.key, "-out", files.chain, "-days", "30", "-subj", "/CN=\(file)",
      "-addext", "subjectAltName=" + names.map { "DNS:\($0)" }.joined(separator: ","),
    ])
    if isExpired {
      run(["x509", "-in", files.chain, "-days", "-1", "-signkey", files.key, "-out", files.chain])
    }
    protect(files.key)
    return files
  }

  static func run(_ arguments: [String]) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return }
    process.waitUntilExit()
  }

  static func write(_ text: String, as name: String) -> String {
    let path = "\(folder)/\(name)"
    try? text.write(toFile: path, atomically: true, encoding: .utf8)
    protect(path)
    return path
  }

  static func protect(_ path: String, _ mode: Int = 0o600) {
    try? FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }
}
