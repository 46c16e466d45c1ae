import Engine
import Settings
import Wire

/// The settings of compression in the form of the handshake and of the engine.
extension CompressionSettings {
  /// Nil if offers of compression are declined.
  var policy: DeflatePolicy? {
    isEnabled
      ? DeflatePolicy(allowsContext: keepsContext, contextWindowBits: UInt8(windowBits)) : nil
  }

  var options: CompressionOptions {
    CompressionOptions(level: level, memoryLevel: memoryLevel, thresholdBytes: thresholdBytes)
  }
}
