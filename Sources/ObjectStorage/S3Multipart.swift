/// Large files go up in parts: a lost connection then costs one part, and the time limit is that of
/// a part. An upload that fails is aborted, so that the bucket keeps no parts of it. One that a
/// killed gateway leaves stays until the bucket's own rule for incomplete uploads removes it.
import Kernel

extension S3Client {
  /// S3 wants parts of at least 5 MiB, and at most 10,000 of them.
  static let partBytes: Int64 = 8 << 20
  static let partsMax: Int64 = 10_000

  func putInParts(_ file: ReadableFile, key: String) throws(S3Fault) {
    let count = (file.byteCount + partBytes - 1) / partBytes
    guard count <= S3Client.partsMax else { throw S3Fault(.other, "the file is too large") }
    let upload = try begin(key)
    do throws(S3Fault) {
      var tags: [String] = []
      for number in 1...count {
        let offset = (number - 1) * partBytes
        var call = S3Call("PUT", path: settings.path(of: key))
        call.query = [("partNumber", "\(number)"), ("uploadId", upload)]
        call.body = .file(file, offset: offset, count: min(partBytes, file.byteCount - offset))
        guard let tag = try perform(call).fields["etag"] else {
          throw S3Fault(.other, "the server did not name a part")
        }
        tags.append(tag)
      }
      try complete(key, upload: upload, tags: tags, byteCount: file.byteCount)
    } catch {
      var abort = S3Call("DELETE", path: settings.path(of: key))
      abort.query = [("uploadId", upload)]
      // The first fault is the reason; this one only leaves parts to the bucket's own rule.
      do throws(S3Fault) { _ = try perform(abort) } catch let second {
        throw S3Fault(error.kind, "\(error.description); not aborted: \(second.description)")
      }
      throw error
    }
  }

  private func begin(_ key: String) throws(S3Fault) -> String {
    var call = S3Call("POST", path: settings.path(of: key))
    call.query = [("uploads", "")]
    call.headers = [("content-type", S3Client.contentType)]
    guard let upload = S3Document(try perform(call).body).text(of: "UploadId") else {
      throw S3Fault(.other, "the server did not name the upload")
    }
    return upload
  }

  private func complete(
    _ key: String, upload: String, tags: [String], byteCount: Int64
  ) throws(S3Fault) {
    var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    for (index, tag) in tags.enumerated() {
      let escaped = tag.filter { $0 != "<" && $0 != ">" && $0 != "&" }
      text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(escaped)</ETag></Part>"
    }
    text += "</CompleteMultipartUpload>"
    var call = S3Call("POST", path: settings.path(of: key))
    call.query = [("uploadId", upload)]
    call.headers = [("content-type", "application/xml")]
    call.body = .bytes(Array(text.utf8))
    do throws(S3Fault) {
      // The status is 200 even if the completion fails behind it (S3: CompleteMultipartUpload).
      let document = S3Document(try perform(call).body)
      if document.isRooted(in: "Error") {
        throw S3Fault(
          status: 200, code: document.text(of: "Code") ?? "", region: nil, isOfObject: true)
      }
    } catch {
      // A repeated completion whose first answer was lost: the upload is gone, the object is there.
      guard error.kind == .notFound, try size(of: key) == byteCount else { throw error }
    }
  }
}
