import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) for secrets at rest.
public enum AES256GCM {
  public static let keyByteCount = 32
  public static let nonceByteCount = 12
  public static let tagByteCount = 16

  /// Returns a random nonce, the ciphertext and the tag, concatenated. `context` is authenticated
  /// too, so that a secret sealed for one place does not open at another. A key may seal 2^32
  /// messages (SP 800-38D §8.3).
  public static func seal(_ plain: [UInt8], key: [UInt8], context: [UInt8]) -> [UInt8] {
    let nonce = SecureRandom.bytes(nonceByteCount)
    var sealed = [UInt8](repeating: 0, count: plain.count)
    var tag = [UInt8](repeating: 0, count: tagByteCount)
    let isSealed = GCM.run(plain, to: &sealed, key, nonce, context, &tag, seals: true)
    precondition(isSealed, "OpenSSL cannot encrypt")
    return nonce + sealed + tag
  }

  /// Nil for another key or context, and for modified bytes.
  public static func open(_ sealed: [UInt8], key: [UInt8], context: [UInt8]) -> [UInt8]? {
    guard sealed.count >= nonceByteCount + tagByteCount else { return nil }
    let nonce = Array(sealed.prefix(nonceByteCount))
    let body = Array(sealed.dropFirst(nonceByteCount).dropLast(tagByteCount))
    var tag = Array(sealed.suffix(tagByteCount))
    var plain = [UInt8](repeating: 0, count: body.count)
    return GCM.run(body, to: &plain, key, nonce, context, &tag, seals: false) ? plain : nil
  }
}

/// AES-128-GCM with a nonce that the caller derives with the key, for records of RFC 8188.
public enum AES128GCM {
  public static let keyByteCount = 16

  /// Returns the ciphertext and the tag, concatenated. A pair of key and nonce seals one text.
  public static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: plain.count)
    var tag = [UInt8](repeating: 0, count: AES256GCM.tagByteCount)
    let isSealed = GCM.run(plain, to: &sealed, key, nonce, [], &tag, seals: true)
    precondition(isSealed, "OpenSSL cannot encrypt")
    return sealed + tag
  }
}

private enum GCM {
  /// The length of the key chooses between AES-128 and AES-256.
  static func run(
    _ input: [UInt8], to output: inout [UInt8], _ key: [UInt8], _ nonce: [UInt8],
    _ context: [UInt8], _ tag: inout [UInt8], seals: Bool
  ) -> Bool {
    precondition(
      key.count == AES256GCM.keyByteCount || key.count == AES128GCM.keyByteCount,
      "a key of AES has 16 or 32 bytes here")
    precondition(nonce.count == AES256GCM.nonceByteCount, "a nonce of GCM has 12 bytes here")
    precondition(input.count + context.count <= Int(Int32.max), "a secret is at most 2 GiB")
    let direction: Int32 = seals ? 1 : 0
    var written: Int32 = 0
    var rest: Int32 = 0
    // SAFETY: the context is freed below, which overwrites the key; every buffer lives through its
    // call and has the given count, or the one fixed by GCM (12 bytes of nonce, 16 of tag). GCM
    // writes as many bytes as it reads, and nothing at the end.
    let cipher = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(cipher) }
    let algorithm =
      unsafe key.count == AES256GCM.keyByteCount ? EVP_aes_256_gcm() : EVP_aes_128_gcm()
    return unsafe EVP_CipherInit_ex(cipher, algorithm, nil, key, nonce, direction) == 1
      && (seals || EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, 16, &tag) == 1)
      && EVP_CipherUpdate(cipher, nil, &written, context, Int32(context.count)) == 1
      && EVP_CipherUpdate(cipher, &output, &written, input, Int32(input.count)) == 1
      && Int(written) == input.count && EVP_CipherFinal_ex(cipher, nil, &rest) == 1
      && (!seals || EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, 16, &tag) == 1)
  }
}
