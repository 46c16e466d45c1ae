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
  mutating func contents(_ contents: ContentMetrics) {
    family(
      "channel_contents_total", "counter",
      "Contents of messages, such as pictures: stored, left out by the rules, or missing.",
      [
        ("{result=\"stored\"}", contents.stored), ("{result=\"left_out\"}", contents.omitted),
        ("{result=\"missing\"}", contents.missing),
      ])
    family(
      "channel_content_attempts_failed_total", "counter",
      "Failed attempts to fetch a content, including repeated ones.",
      [("", contents.attemptsFailed)])
    family(
      "channel_contents_waiting", "gauge",
      "Contents of all gateways that are to be fetched, at most 100000.",
      [("", UInt64(contents.waiting))])
    family(
      "channel_content_oldest_waiting_seconds", "gauge",
      "The time since the oldest of them came.", [("", UInt64(contents.oldestWaitingSeconds))])
  }
}
