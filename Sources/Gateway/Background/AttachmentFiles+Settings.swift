import Attachments
import Settings

extension AttachmentFiles {
  /// Storage, virus scanner and cleaning of images as the settings say. The scanner gets the file
  /// as it came: what hides behind an image is gone after the cleaning.
  convenience init(_ settings: Settings, report: @escaping @Sendable (String) -> Void) {
    let (own, counts) = (settings.attachments, AttachmentCounts())
    var inspectors: [any AttachmentInspector] = []
    if let scanner = own.clamd {
      inspectors.append(
        VirusInspector(scanner, isRequired: own.scannerIsRequired, counts: counts, report: report))
    }
    if own.cleansImages { inspectors.append(ImageInspector()) }
    let folder = settings.attachmentFolder
    let storage: any AttachmentStorage =
      own.bucket.map { S3Storage($0) as any AttachmentStorage }
      ?? DiskStorage(folder: folder + "/stored")
    self.init(
      folder: folder + "/uploads", storage: storage, inspectors: inspectors, counts: counts)
  }
}
