/// Where files are that visitors and operators send, and what is done with them before.
public import ObjectStorage
import Primitives
public import VirusScan

public enum AttachmentPlaceKind: String, CaseIterable, Sendable {
  /// In a folder.
  case disk
  /// In a bucket of an S3 server.
  case s3
}

public struct AttachmentSettings: Sendable, Equatable {
  public var storage = AttachmentPlaceKind.disk
  /// Nil: `attachments` in the data directory. With `s3` only uploads that are not complete.
  public var folder: String?
  public var s3 = BucketSettings()
  /// Nil: files are not scanned.
  public var scanner: ClamAddress?
  /// Whether a file waits for a scanner that does not answer; else it is taken without a verdict.
  public var scannerIsRequired = true
  /// Seconds for the scan of one file.
  public var scannerSeconds = 60
  /// Whether images are decoded and encoded again.
  public var cleansImages = true

  public init() {}
}

public struct BucketSettings: Sendable, Equatable {
  public var endpoint: S3Endpoint?
  public var region = "us-east-1"
  public var bucket: String?
  public var accessKey: String?
  public var secretKey: String?
  /// Whether the bucket is the first part of the path, or of the host name.
  public var isPathStyle = true
  /// A PEM file of certificates to trust instead of the system's.
  public var authority: String?

  public init() {}
}

extension Settings {
  /// The folder of attachments.
  public var attachmentFolder: String { attachments.folder ?? dataDirectory + "/attachments" }
}

extension AttachmentSettings {
  /// The bucket; nil with storage on disk.
  public var bucket: S3Settings? {
    guard storage == .s3, let endpoint = s3.endpoint, let bucket = s3.bucket,
      let accessKey = s3.accessKey, let secretKey = s3.secretKey
    else { return nil }
    return S3Settings(
      endpoint: endpoint, region: s3.region, bucket: bucket, accessKey: accessKey,
      secretKey: secretKey, isPathStyle: s3.isPathStyle, authority: s3.authority)
  }

  public var clamd: ClamClient? {
    scanner.map { ClamClient(address: $0, milliseconds: Int64(scannerSeconds) * 1_000) }
  }

  mutating func read(_ check: inout SettingsCheck) {
    check.value(.attachmentsStorage, into: &storage) { AttachmentPlaceKind(rawValue: $0) }
    check.optional(.attachmentsFolder, into: &folder) { parsePath($0) }
    check.optional(.attachmentsS3Endpoint, into: &s3.endpoint) { S3Endpoint($0) }
    check.value(.attachmentsS3Region, into: &s3.region) { parseRegion($0) }
    check.optional(.attachmentsS3Bucket, into: &s3.bucket) {
      S3Settings.isBucketName($0) ? $0 : nil
    }
    check.optional(.attachmentsS3AccessKey, into: &s3.accessKey) { parseStorageKey($0) }
    check.optional(.attachmentsS3SecretKey, into: &s3.secretKey) { parseStorageKey($0) }
    check.value(.attachmentsS3PathStyle, into: &s3.isPathStyle) { parseBoolean($0) }
    check.optional(.attachmentsS3Authority, into: &s3.authority) { parsePath($0) }
    check.optional(.attachmentsScanner, into: &scanner) { ClamAddress($0) }
    check.value(.attachmentsScannerRequired, into: &scannerIsRequired) { parseBoolean($0) }
    check.number(.attachmentsScannerSeconds, into: &scannerSeconds)
    check.value(.attachmentsCleanImages, into: &cleansImages) { parseBoolean($0) }
    if storage == .s3, bucket == nil, check.problems.isEmpty {
      check.refuse(
        .attachmentsStorage,
        because: "s3 requires attachments.s3.endpoint, .bucket, .access_key and .secret_key")
    }
  }
}

/// For example `eu-central-1`; own servers have names of their own.
private func parseRegion(_ text: String) -> String? {
  (1...64).contains(text.utf8.count)
    && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-_".utf8.contains($0) }
    ? text : nil
}

/// Printable characters without spaces, since the access key stands in a header. A file of a secret
/// may end with a line break.
private func parseStorageKey(_ text: String) -> String? {
  let key = text.trimmingBlanks
  return (1...256).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    ? String(key) : nil
}

extension AttachmentPlaceKind: SettingValue { var settingText: String { rawValue } }
extension S3Endpoint: SettingValue { var settingText: String { "\(scheme)://\(authority)" } }
extension ClamAddress: SettingValue { var settingText: String { description } }
