import Engine
import Settings
import Wire

/// What the settings of compression mean to the handshake and to the engine.
extension CompressionSettings {
  /// Nil when nothing is agreed to.
  var policy: DeflatePolicy? {
    isEnabled
      ? DeflatePolicy(allowsContext: keepsContext, contextWindowBits: UInt8(windowBits)) : nil
  }

  var options: CompressionOptions {
    CompressionOptions(level: level, memoryLevel: memoryLevel, thresholdBytes: thresholdBytes)
  }
}
