import Attachments
import Channels
import IncomingMail
import Kernel
import Mail
import REST
import Settings
import WebPush
import Webhooks

/// The figures of one answer to `/metrics`. Nothing is queried for it: loops and background jobs
/// have published them, and the kernel gives those of the process at once.
struct MetricsSnapshot {
  var loops: [LoopMetrics]
  var webhooks = DeliveryMetrics()
  var push = PushMetrics()
  var mail = MailMetrics()
  var replies = ReplyMetrics()
  var channels = ChannelMetrics()
  var contents = ContentMetrics()
  var api = APIMetrics()
  var attachments = AttachmentFigures()
  var stored = Maintenance.StoredFigures()
  /// Of each task that the settings include.
  var upkeep: [(task: UpkeepTask, record: UpkeepRecord)] = []
  /// Nil if the kernel does not give them, for example without /proc.
  var process: ProcessFigures?
  /// The files of the certificates, and when each expires, in seconds since 1970.
  var certificates: [(file: String, at: Int64)] = []
  var readers = ExpensiveReaders.Figures()
  /// Other gateways on the database.
  var peers = 0
  var version = ""
  /// The most connections of this gateway.
  var connectionsMax = 0

  init(loops: [LoopMetrics]) { self.loops = loops }

  init(_ context: GatewayContext) {
    loops = context.metrics.read()
    webhooks = context.deliveries.metrics
    push = context.push.metrics
    mail = context.mail.metrics
    replies = context.replies.metrics
    channels = context.channels.metrics
    contents = context.contents.metrics
    api = context.api.metrics
    let counts = context.attachments.counts
    attachments = AttachmentFigures(
      receivedBytes: counts.receivedBytes, sentBytes: counts.sentBytes, stored: counts.stored,
      refused: counts.refusals, infected: counts.infected, unscanned: counts.unscanned,
      work: UInt64(context.attachments.waiting))
    stored = context.maintenance.storedFigures
    upkeep = context.upkeep.figures
    process = try? ProcessFigures.read()
    certificates = context.certificates?.expiries ?? []
    readers = context.readers.figures
    peers = context.peers.count
    version = context.version
    connectionsMax = context.settings.limits.connections
  }
}
