import COpenSSL

/// The reason for the end of a TLS connection. Each has one text, under which it is counted.
public enum TLSFault: Error, Hashable, Sendable, CaseIterable {
  /// A request in plain HTTP on the TLS port.
  case plainHTTP
  case notTLS
  case version
  case cipher
  case applicationProtocol
  case malformed
  case alert
  case recordTooLong
  case badRecord
  case unexpectedMessage
  case keyUpdates
  case emptyRecords
  case renegotiation
  /// The client does not trust the server's certificate for this name.
  case untrusted
  /// OpenSSL is out of memory or broken.
  case library

  public var reason: StaticString {
    switch self {
    case .plainHTTP: "plain HTTP on the TLS port"
    case .notTLS: "not TLS at all"
    case .version: "no shared version"
    case .cipher: "no shared cipher"
    case .applicationProtocol: "no shared application protocol"
    case .malformed: "malformed handshake"
    case .alert: "alert received"
    case .recordTooLong: "record too long"
    case .badRecord: "record that cannot be decrypted"
    case .unexpectedMessage: "unexpected message"
    case .keyUpdates: "too many key updates"
    case .emptyRecords: "too many empty records"
    case .renegotiation: "renegotiation"
    case .untrusted: "certificate not trusted"
    case .library: "internal"
    }
  }

  /// Maps OpenSSL's last error on this thread, and empties its error queue.
  static func takeLast() -> TLSFault {
    var reason = chirrup_error_reason(ERR_peek_last_error())
    // OpenSSL adds this error after that of its record layer, from 3.2 on.
    if reason == SSL_R_RECORD_LAYER_FAILURE { reason = chirrup_error_reason(ERR_peek_error()) }
    ERR_clear_error()
    switch reason {
    case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST: return .plainHTTP
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_UNKNOWN_PROTOCOL: return .notTLS
    case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH,
      SSL_R_UNKNOWN_SSL_VERSION, SSL_R_INAPPROPRIATE_FALLBACK:
      return .version
    case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_GROUPS,
      SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM,
      SSL_R_NO_CIPHERS_SPECIFIED:
      return .cipher
    case SSL_R_NO_APPLICATION_PROTOCOL: return .applicationProtocol
    case SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG,
      SSL_R_DATA_LENGTH_TOO_LONG:
      return .recordTooLong
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, SSL_R_BAD_RECORD_TYPE: return .badRecord
    case SSL_R_UNEXPECTED_MESSAGE, SSL_R_UNEXPECTED_RECORD, SSL_R_UNEXPECTED_CCS_MESSAGE,
      SSL_R_CCS_RECEIVED_EARLY, SSL_R_APP_DATA_IN_HANDSHAKE:
      return .unexpectedMessage
    case SSL_R_RECORD_TOO_SMALL: return .emptyRecords
    case SSL_R_CERTIFICATE_VERIFY_FAILED: return .untrusted
    case Int32(SSL_AD_REASON_OFFSET)..<Int32(SSL_AD_REASON_OFFSET + 256): return .alert
    case Int32(ERR_R_MALLOC_FAILURE), Int32(ERR_R_INTERNAL_ERROR): return .library
    default: return .malformed
    }
  }
}
