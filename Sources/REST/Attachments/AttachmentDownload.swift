/// Downloads: a signed link is the only right that they need. The bytes are read in pieces, as fast
/// as the client takes them.
import Attachments
import Directory
import Primitives

struct AttachmentDownload: RouteGroup {
  let api: API

  func download(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard let files = api.options.attachments else { throw .attachmentsOff }
    let link = try link(of: request)
    guard link.end > request.now.microseconds / 1_000_000 else { throw .linkExpired }
    let found = try await api.database.run(
      Attachment.shown([link.key.id], in: link.key.workspace))
    guard let item = found.first, !link.key.isThumbnail || item.hasThumbnail else {
      throw .noSuchAttachment
    }
    var byteCount = item.byteCount
    if link.key.isThumbnail {
      byteCount = try await AttachmentRoutes(api).reading {
        () async throws(AttachmentFiles.Failure) in try await files.byteCount(of: link.key)
      }
    }
    return response(to: request, item, link.key, byteCount, files)
  }

  private func link(of request: APIRequest) throws(Problem) -> AttachmentLink {
    let id = request.path.split(separator: "/").last.flatMap { Identifier(String($0)) }
    guard let id,
      let link = AttachmentLink(
        id: id, try QueryString(request.query), signedBy: api.options.secrets)
    else { throw .badLink }
    return link
  }

  private func response(
    to request: APIRequest, _ item: Attachment, _ key: AttachmentKey, _ byteCount: Int64,
    _ files: AttachmentFiles
  ) -> APIResponse {
    let tag = "\"\(item.id)\(key.isThumbnail ? "-thumbnail" : "")\""
    var headers = AttachmentDownload.headers(
      of: item, type: key.isThumbnail ? AttachmentLimits.thumbnailType : item.type ?? "")
    headers.append(("ETag", tag))
    if let known = request.header("If-None-Match"), known == tag {
      return APIResponse(status: 304, headers: headers)
    }
    headers.append(("Accept-Ranges", "bytes"))
    let isOfTag = request.header("If-Range").map { $0 == tag } ?? true
    let wanted = isOfTag ? request.header("Range") : nil
    switch ByteRange.read(wanted, byteCount: byteCount) {
    case .whole:
      return response(200, headers, 0..<byteCount, key, files)
    case .part(let range):
      headers.append(
        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"))
      return response(206, headers, range, key, files)
    case .outside:
      var response = Problem.rangeOutside.response()
      response.headers.append(("Content-Range", "bytes */\(byteCount)"))
      return response
    }
  }

  private func response(
    _ status: Int, _ headers: [(name: String, value: String)], _ range: Range<Int64>,
    _ key: AttachmentKey, _ files: AttachmentFiles
  ) -> APIResponse {
    var response = APIResponse(status: status, headers: headers)
    let api = api
    response.pieces = BodyPieces(byteCount: Int64(range.count)) { offset in
      let start = range.lowerBound + offset
      let end = min(start + Int64(AttachmentLimits.pieceBytes), range.upperBound)
      do throws(AttachmentFiles.Failure) {
        let bytes = try await files.read(key, start..<end)
        api.options.onResume()
        return bytes
      } catch {
        api.options.onResume()
        if case .storage(let reason, _) = error { api.options.report(reason) }
        return nil
      }
    }
    return response
  }

  /// Nothing that comes from a visitor runs on our origin: only raster images are shown, all other
  /// files are downloads, and neither may run a script or load anything.
  private static func headers(
    of item: Attachment, type: String
  ) -> [(name: String, value: String)] {
    let isInline = ContentType.inline.contains(type)
    return [
      ("Content-Type", isInline ? type : downloadType(type)),
      ("Content-Disposition", AttachmentName.disposition(item.name, isInline: isInline)),
      ("Content-Security-Policy", "sandbox; default-src 'none'"),
      ("Cross-Origin-Resource-Policy", "cross-origin"), ("Cache-Control", "private, max-age=600"),
      ("Referrer-Policy", "no-referrer"),
    ]
  }

  /// Pages and their like lose their type; texts get their encoding.
  private static func downloadType(_ type: String) -> String {
    switch type {
    case "text/html", "image/svg+xml", "application/xml", "": "application/octet-stream"
    case _ where type.hasPrefix("text/"): "text/plain; charset=utf-8"
    default: type
    }
  }
}

/// One range of bytes (RFC 9110 §14.2). Several ranges, and other units, count as none: the
/// response is the whole file, which a server may always send.
enum ByteRange: Equatable {
  case whole
  case part(Range<Int64>)
  /// 416.
  case outside

  static func read(_ field: String?, byteCount: Int64) -> ByteRange {
    guard let field, field.hasPrefix("bytes="), !field.contains(",") else { return .whole }
    let ends = field.dropFirst("bytes=".count).split(
      separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, let first = number(ends[0]), let last = number(ends[1]) else {
      return .whole
    }
    switch (first, last) {
    case (nil, nil): return .whole
    case (nil, let count?):
      guard count > 0 else { return .outside }
      return .part(max(0, byteCount - count)..<byteCount)
    case (let start?, let last):
      if let last, last < start { return .whole }
      guard start < byteCount else { return .outside }
      return .part(start..<min(last ?? .max - 1, byteCount - 1) + 1)
    }
  }

  /// Nil: no number. A nil inside: nothing stands there.
  private static func number(_ text: Substring) -> Int64?? {
    if text.isEmpty { return .some(nil) }
    guard text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
    return .some(Int64(text) ?? .max - 1)
  }
}
