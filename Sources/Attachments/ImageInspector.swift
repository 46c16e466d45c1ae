public import ImageCleaning
import Kernel

/// Replaces images by cleaned ones: without metadata, turned upright, with a thumbnail. What cannot
/// be decoded is refused: no image reaches another browser that was not encoded here.
public struct ImageInspector: AttachmentInspector {
  private let cleaner: ImageCleaner

  public init(_ cleaner: ImageCleaner = ImageCleaner()) { self.cleaner = cleaner }

  public func inspect(_ upload: inout FinishedUpload) throws(AttachmentFault) {
    guard let format = ImageFormat(mediaType: upload.type) else { return }
    let (image, thumbnail) = (
      upload.path + UploadFolder.cleanSuffix, upload.path + UploadFolder.thumbnailSuffix
    )
    var isTaken = false
    defer {
      // A failed attempt may have written it; the sweep finds the rest.
      if !isTaken { for path in [image, thumbnail] { _ = try? BlockingFile.remove(path) } }
    }
    // A gateway that was killed in this step may have left it.
    for path in [image, thumbnail] { _ = try? BlockingFile.remove(path) }
    let outcome: CleaningOutcome
    do throws(CleaningFault) {
      outcome = try cleaner.clean(upload.path, format, to: image, thumbnail: thumbnail)
    } catch {
      throw .unavailable(reason: error.description)
    }
    switch outcome {
    case .cleaned(let cleaned):
      isTaken = true
      upload.path = image
      upload.thumbnailPath = thumbnail
      upload.byteCount = cleaned.byteCount
      upload.width = cleaned.width
      upload.height = cleaned.height
    case .refused(.animated):
      // Kept as a file that no page shows, since its frames are not encoded again.
      upload.type = "application/octet-stream"
      upload.width = nil
      upload.height = nil
    case .refused(.unreadable), .refused(.ended):
      throw .refused(type: "image_unreadable", reason: "The image is damaged, and cannot be sent.")
    case .refused(.tooLarge):
      throw .refused(
        type: "image_too_large",
        reason: "The image has more than \(ImageLimits.pixels / 1_000_000) million pixels, or too "
          + "many frames.")
    }
  }
}
