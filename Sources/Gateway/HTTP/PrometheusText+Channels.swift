import Channels
import REST

/// Channels of other platforms: what came, and what was sent.
extension PrometheusText {
  mutating func channels(_ received: ChannelFigures, _ sent: ChannelMetrics) {
    family(
      "channel_events_total", "counter", "Events that webhooks of channels have stored.",
      [("", received.events)])
    family(
      "channel_events_repeated_total", "counter", "Events that were stored before.",
      [("", received.repeated)])
    family(
      "channel_signatures_refused_total", "counter",
      "Requests to webhooks of channels without a valid signature.", [("", received.refused)])
    family(
      "channel_sent_total", "counter", "Messages that platforms of channels have accepted.",
      [("", sent.sent)])
    family(
      "channel_attempts_failed_total", "counter", "Failed attempts, including repeated ones.",
      [("", sent.attemptsFailed)])
    family(
      "channel_failed_total", "counter", "Messages that have failed for good.",
      [("", sent.failed)])
    family(
      "channel_waiting", "gauge",
      "Conversations of all gateways in which a message waits to be sent, at most 100000.",
      [("", UInt64(sent.waiting))])
    family(
      "channel_oldest_waiting_seconds", "gauge",
      "The time since the oldest first attempt to send a message that still waits.",
      [("", UInt64(sent.oldestWaitingSeconds))])
  }
}
