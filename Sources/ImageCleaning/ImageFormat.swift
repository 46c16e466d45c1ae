/// The formats that the cleaning of images accepts, and its faults.
import Confinement

/// The formats that browsers show and that are cleaned.
public enum ImageFormat: String, CaseIterable, Sendable {
  case jpeg, png, gif, webp

  /// For example of `image/jpeg`; nil for all that is not cleaned.
  public init?(mediaType: String) {
    guard mediaType.hasPrefix("image/") else { return nil }
    self.init(rawValue: String(mediaType.dropFirst(6)))
  }
}

/// Why an image is not cleaned. The words go through the pipe from the cleaning process.
public enum ImageRefusal: String, Error, Sendable {
  /// No image of the format, or a damaged one.
  case unreadable
  /// More pixels, frames or bytes than are decoded.
  case tooLarge
  /// An animated WebP: its frames are not encoded again.
  case animated
  /// The process was ended: by its limits of memory and time, or by a fault of a decoder.
  case ended
}

public enum ImageLimits {
  /// Of the decoded image: a telephone's camera has 12 to 50 million.
  public static let pixels = 50_000_000
  /// Of one side; also the most that a WebP may have, less one.
  public static let side = 30_000
  public static let fileBytes = 100 << 20
  public static let frames = 2_000
  /// Pixels of all frames of a GIF.
  public static let framePixels = 1_000_000_000
  /// The longest side of a smaller image for lists.
  public static let thumbnailSide = 640
  /// Address space of the process: a decoded image four times, and the program.
  public static let addressBytes: UInt64 = 1 << 30
  public static let processorSeconds: UInt64 = 20
  public static let wallSeconds: UInt32 = 120
  /// Of each of the two files that it writes. A re-encoded file may be larger than the original.
  public static let writtenBytes: UInt64 = 256 << 20
  /// Processes at a time, each with at most `addressBytes`.
  public static let processes = 2

  static let process = ConfinementLimits(
    addressBytes: addressBytes, processorSeconds: processorSeconds, writtenBytes: writtenBytes,
    wallSeconds: wallSeconds)
}
