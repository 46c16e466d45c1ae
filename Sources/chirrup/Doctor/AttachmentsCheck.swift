/// Whether files can be stored and scanned, and images be cleaned.
import EmbeddedPostgres
import Glibc
import ImageCleaning
import Kernel
import ObjectStorage
import Settings
import VirusScan

extension DoctorCheck {
  static let attachments = DoctorCheck(
    name: "attachments", symptom: "files cannot be sent: the storage or the scanner is unavailable",
    remedy: "correct attachments.s3 and attachments.scanner, and see that the bucket's server and "
      + "clamd run (systemctl status clamav-daemon)", limitMilliseconds: 60_000
  ) { examination in
    let settings = examination.settings.attachments
    var found: [String] = []
    if let bucket = settings.bucket {
      do throws(S3Fault) { try S3Client(bucket).checkBucket() } catch {
        return .failure("\(bucket.bucket): \(error)")
      }
      found.append("bucket \(bucket.bucket)")
    } else {
      let folder = AttachmentFolder(examination.settings.attachmentFolder)
      if let fault = folder.fault { return fault }
      found.append("files in \(folder.path)")
    }
    if settings.cleansImages {
      do throws(CleaningFault) { try ImageCleaner().check() } catch { return .failure("\(error)") }
      found.append("images are cleaned")
    } else {
      found.append("images stay as they are")
    }
    guard let scanner = settings.clamd else {
      return .ok((found + ["no virus scanner"]).joined(separator: ", "))
    }
    do throws(ScanFault) { found.append("clamd is \(try scanner.version())") } catch {
      let text = "\(scanner.address): \(error)"
      return settings.scannerIsRequired ? .failure(text) : .warning(text)
    }
    return .ok(found.joined(separator: ", "))
  }
}

/// The folder of attachments on disk. Nothing is written to it.
struct AttachmentFolder {
  /// Space below which uploads soon fail, for the largest files of some people at once.
  static let freeBytesMin: Int64 = 1 << 30

  let path: String

  init(_ path: String) { self.path = path }

  /// What is wrong with it; nil: nothing.
  var fault: Diagnosis? {
    let place = nearest
    // SAFETY: the paths are copied into C strings for the calls.
    guard unsafe access(place, W_OK | X_OK) == 0 else {
      return .failure(
        "\(place) is not writable for this user: \(TextFile.reason())",
        mend: "give \(place) to the user of the gateway (chown), or correct attachments.folder; "
          + "and run chirrup doctor as that user")
    }
    var status = statvfs()
    guard unsafe statvfs(place, &status) == 0 else {
      return .failure("the file system of \(place) cannot be examined: \(TextFile.reason())")
    }
    let free = Int64(status.f_bavail) * Int64(status.f_frsize)
    guard free >= AttachmentFolder.freeBytesMin else {
      return .warning(
        "\(place) has \(mebibytes(free)) left for files",
        mend: "free some space, or move the folder to a larger disk and set attachments.folder")
    }
    return nil
  }

  /// The folder, or the one above it in which the gateway makes it.
  private var nearest: String {
    var folder = path
    // SAFETY: as above.
    while unsafe access(folder, F_OK) != 0, folder != "/", folder != "." {
      folder = BlockingFile.parent(of: folder)
    }
    return folder
  }
}
