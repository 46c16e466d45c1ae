/// Schemas of push messages.
import OpenSSL
import WebPush

extension Schema {
  static let push = object([
    "public_key": text.described(
      "`applicationServerKey` of `PushManager.subscribe()`, in base64url."),
    "subscribed": bool.described("Whether this login gets push messages."),
    "waiting": bool, "messages": bool, "texts": bool,
  ]).named("Push")

  static let pushSubscription = input(
    [
      "endpoint": string(
        9...PushSubscription.addressBytesMax, pattern: "^https://"
      ).described("The address at the push service."),
      "keys": input([
        "p256dh": string(1...APILimits.pushKeyBytes).described(
          "The browser's public key: a point of P-256, uncompressed, in base64url."),
        "auth": string(22...22, pattern: "^[A-Za-z0-9_-]{21}[AQgw]$").described(
          "The browser's secret of 16 bytes, in base64url."),
      ]).described("`keys` of `PushSubscription.toJSON()`."),
    ],
    optional: ["waiting": bool, "messages": bool, "texts": bool]
  ).named("PushSubscription")
}
