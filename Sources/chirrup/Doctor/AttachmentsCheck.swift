/// Whether files can be stored and scanned, and images be cleaned.
import ImageCleaning
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
      found.append("files in \(examination.settings.attachmentFolder)")
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
