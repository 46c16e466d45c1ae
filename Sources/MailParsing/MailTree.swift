/// A message as GMime reads it. Objects are not released: the process ends after one message.
import CGMime

@safe struct MailTree {
  typealias Object = UnsafeMutableRawPointer

  /// The kinds of objects of a message.
  enum Kind { case multipart, part, other }

  private let calls: UnsafePointer<chirrup_gmime>
  private let message: Object

  /// Loads GMime; nil if it is not installed.
  @safe struct Library {
    fileprivate let calls: UnsafePointer<chirrup_gmime>

    init?() {
      guard let loaded = unsafe chirrup_gmime_load() else { return nil }
      unsafe calls = loaded
      // SAFETY: all functions of the table are set.
      unsafe calls.pointee.g_mime_init()
    }
  }

  /// - Parameter bytes: stay where they are until the process ends.
  init?(_ bytes: UnsafeBufferPointer<CChar>, _ library: Library) {
    unsafe calls = library.calls
    // SAFETY: the stream reads the bytes, which stay; the functions return objects or NULL.
    guard
      let stream = unsafe calls.pointee.g_mime_stream_mem_new_with_buffer(
        bytes.baseAddress, bytes.count),
      let parser = unsafe calls.pointee.g_mime_parser_new_with_stream(stream),
      let found = unsafe calls.pointee.g_mime_parser_construct_message(parser, nil)
    else { return nil }
    unsafe message = found
  }

  private static func text(_ text: UnsafePointer<CChar>?) -> String? {
    // SAFETY: GMime's texts end with NUL and belong to objects that live.
    guard let text = unsafe text else { return nil }
    return unsafe String(cString: text)
  }

  // MARK: Header

  var messageID: String? {
    unsafe MailTree.text(calls.pointee.g_mime_message_get_message_id(message))
  }

  /// Names in lower case and decoded values, the topmost first.
  func fields(atMost count: Int) -> [(name: String, value: String)] {
    guard let list = unsafe calls.pointee.g_mime_object_get_header_list(message) else { return [] }
    let all = unsafe calls.pointee.g_mime_header_list_get_count(list)
    return (0..<min(Int(all), count)).compactMap { index in
      guard
        let header = unsafe calls.pointee.g_mime_header_list_get_header_at(list, Int32(index)),
        let name = unsafe MailTree.text(calls.pointee.g_mime_header_get_name(header))
      else { return nil }
      let value = unsafe MailTree.text(calls.pointee.g_mime_header_get_value(header)) ?? ""
      return (name.lowercased(), value)
    }
  }

  /// The authors of all fields `From`: the first one's address, if it is no group, and how many
  /// there are.
  var author: (address: String?, count: Int) {
    guard let list = unsafe calls.pointee.g_mime_message_get_from(message) else { return (nil, 0) }
    let count = unsafe calls.pointee.internet_address_list_length(list)
    return unsafe (addresses(list, atMost: 1).first, Int(count))
  }

  /// The addresses of a header field.
  func addresses(of value: String, atMost count: Int) -> [String] {
    // SAFETY: the text is read during the call.
    guard let list = unsafe calls.pointee.internet_address_list_parse(nil, value) else {
      return []
    }
    return unsafe addresses(list, atMost: count)
  }

  private func addresses(_ list: Object, atMost count: Int) -> [String] {
    let all = unsafe calls.pointee.internet_address_list_length(list)
    let mailbox = unsafe calls.pointee.internet_address_mailbox_get_type()
    return (0..<min(Int(all), count)).compactMap { index in
      guard
        let address = unsafe calls.pointee.internet_address_list_get_address(list, Int32(index)),
        unsafe calls.pointee.g_type_check_instance_is_a(address, mailbox) != 0
      else { return nil }
      return unsafe MailTree.text(calls.pointee.internet_address_mailbox_get_addr(address))
    }
  }

  // MARK: Parts

  var root: Object? { unsafe calls.pointee.g_mime_message_get_mime_part(message) }

  func kind(of object: Object) -> Kind {
    let multipart = unsafe calls.pointee.g_mime_multipart_get_type()
    if unsafe calls.pointee.g_type_check_instance_is_a(object, multipart) != 0 {
      return .multipart
    }
    let part = unsafe calls.pointee.g_mime_part_get_type()
    return unsafe calls.pointee.g_type_check_instance_is_a(object, part) != 0 ? .part : .other
  }

  func parts(of multipart: Object, atMost count: Int) -> [Object] {
    let all = unsafe calls.pointee.g_mime_multipart_get_count(multipart)
    var found: [Object] = unsafe []
    for index in 0..<min(Int(all), count) {
      let part = unsafe calls.pointee.g_mime_multipart_get_part(multipart, Int32(index))
      if let part = unsafe part { unsafe found.append(part) }
    }
    return unsafe found
  }

  /// Such as `text` and `plain`, in lower case, and a parameter.
  func type(of object: Object) -> (type: String, subtype: String, charset: String) {
    guard let type = unsafe calls.pointee.g_mime_object_get_content_type(object) else {
      return ("text", "plain", "")
    }
    let main = unsafe MailTree.text(calls.pointee.g_mime_content_type_get_media_type(type))
    let sub = unsafe MailTree.text(calls.pointee.g_mime_content_type_get_media_subtype(type))
    let charset = unsafe MailTree.text(
      calls.pointee.g_mime_content_type_get_parameter(type, "charset"))
    return (main?.lowercased() ?? "", sub?.lowercased() ?? "", charset ?? "")
  }

  func isAttached(_ object: Object) -> Bool {
    unsafe MailTree.text(calls.pointee.g_mime_object_get_disposition(object))?.lowercased()
      == "attachment"
  }

  /// Of an object of the kind `part`.
  func fileName(of part: Object) -> String? {
    unsafe MailTree.text(calls.pointee.g_mime_part_get_filename(part))
  }

  /// The decoded bytes of an object of the kind `part`.
  func content(of part: Object, atMost count: Int) -> [UInt8] {
    guard let content = unsafe calls.pointee.g_mime_part_get_content(part),
      let stream = unsafe calls.pointee.g_mime_stream_mem_new(),
      unsafe calls.pointee.g_mime_data_wrapper_write_to_stream(content, stream) >= 0,
      let bytes = unsafe calls.pointee.g_mime_stream_mem_get_byte_array(stream),
      let data = unsafe bytes.pointee.data
    else { return [] }
    // SAFETY: the array has that many bytes, and lives as long as the stream.
    return unsafe Array(
      UnsafeBufferPointer(start: data, count: min(Int(bytes.pointee.count), count)))
  }
}
