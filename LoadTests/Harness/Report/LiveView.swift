/// The progress lines of a run on a terminal. Pure: takes a width, and no line is longer.
struct LiveView {
  struct State {
    var title: String
    var snapshot: RunState.Snapshot
    /// Elapsed and planned seconds of the load.
    var seconds: Double
    var plannedSeconds: Double?
    /// The last second, by the names in `RunRecord.Series`.
    var row: [String: Double] = [:]
    /// One element per second.
    var ackedPerSecond: [Double?] = []
    var ackP99: [Double?] = []
    /// After Ctrl-C.
    var isEnding = false
  }

  var hasColour: Bool

  func lines(_ state: State, columns: Int) -> [String] {
    let width = max(16, columns - 1)
    return head(state, width)
      + field("messages", messages(state), width)
      + chart("acked/s", state.ackedPerSecond, Format.short, width)
      + field("ack", latencies(state), width)
      + chart("ack p99", state.ackP99, Format.milliseconds, width)
      + field("promises", promises(state), width)
      + field("gateway", processes(state), width)
  }

  // MARK: Groups

  private func head(_ state: State, _ width: Int) -> [String] {
    let snapshot = state.snapshot
    let news: String
    switch snapshot.phase {
    case .connecting:
      news = "connecting, \(Format.count(snapshot.online)) of \(Format.count(snapshot.clients))"
    case .warmingUp: news = "warming up"
    case .loading where state.isEnding: news = "ending"
    case .loading:
      let left = state.plannedSeconds.map { max(0, $0 - state.seconds) }
      news =
        Format.clock(state.seconds)
        + (state.plannedSeconds.map { " of \(Format.clock($0))" } ?? "")
        + (left.map { ", \(Format.clock($0)) left" } ?? "")
    case .draining: news = "waiting for \(Format.count(snapshot.unsettled)) answers"
    case .closing: news = "comparing"
    }
    let part =
      switch snapshot.phase {
      case .connecting: Double(snapshot.online) / Double(max(1, snapshot.clients))
      case .warmingUp: 0.0
      case .loading: state.plannedSeconds.map { state.seconds / max($0, 1) } ?? 0
      case .draining, .closing: 1.0
      }
    let title =
      state.title.isEmpty ? [] : [styled(String(state.title.prefix(width)), .strong)]
    let room = min(40, width - news.count - 2)
    let isOpenEnded = snapshot.phase == .loading && state.plannedSeconds == nil
    guard room >= 8, !isOpenEnded else { return title + [String(news.prefix(width))] }
    let full = Int((Double(room) * min(1, max(0, part))).rounded())
    let bar =
      styled(String(repeating: "━", count: full), .good)
      + styled(String(repeating: "─", count: room - full), .faint)
    return title + ["\(bar)  \(news)"]
  }

  private func messages(_ state: State) -> [Cell] {
    let snapshot = state.snapshot
    func rate(_ name: String) -> String {
      state.row["\(name)_per_second"].map { " (\(Format.short($0.rounded()))/s)" } ?? ""
    }
    let cells = [
      Cell("sent", Format.count(snapshot.made) + rate("sent")),
      Cell("acked", Format.count(snapshot.acked) + rate("acked")),
      Cell("shown", Format.count(snapshot.delivered) + rate("delivered")),
      Cell("in flight", Format.count(snapshot.unsettled)),
    ]
    guard snapshot.online < snapshot.clients, snapshot.phase != .closing else { return cells }
    return cells
      + [Cell("online", "\(Format.count(snapshot.online)) of \(Format.count(snapshot.clients))")]
  }

  private func latencies(_ state: State) -> [Cell] {
    [("p50", "p50"), ("p99", "p99"), ("p99.9", "p999")].map { name, key in
      Cell(name, state.row["ack_\(key)_ms"].map { Format.milliseconds($0) } ?? "–")
    }
  }

  private func promises(_ state: State) -> [Cell] {
    let known: [Violations.Kind] = [.lost, .duplicated, .reordered, .holes, .mismatched]
    return known.map { kind in
      let count = state.snapshot.violations[kind] ?? 0
      return Cell(kind.rawValue, Format.count(count), count == 0 ? .good : .bad)
    } + [Cell("reconnects", Format.count(state.snapshot.reconnects))]
  }

  private func processes(_ state: State) -> [Cell] {
    var cells: [Cell] = []
    if let cores = state.row["gateway_cores"] { cells.append(Cell("cores", Format.number(cores))) }
    if let bytes = state.row["gateway_resident_bytes"] {
      cells.append(Cell("memory", Format.bytes(bytes)))
    }
    if let size = state.row["batch_messages"] {
      cells.append(Cell("messages a commit", Format.number(size)))
    }
    if let cores = state.row["generator_cores"] {
      cells.append(Cell("generator", "\(Format.number(cores)) cores"))
    }
    return cells
  }

  // MARK: Lines

  private struct Cell {
    var name: String
    var value: String
    var style: Style

    init(_ name: String, _ value: String, _ style: Style = .strong) {
      self.name = name
      self.value = value
      self.style = style
    }

    var width: Int { name.count + 1 + value.count }
  }

  private static let labelWidth = 10

  /// Cells after a label, in as many lines as needed.
  private func field(_ label: String, _ cells: [Cell], _ width: Int) -> [String] {
    guard !cells.isEmpty else { return [] }
    var lines: [String] = []
    var line = styled(label.padded(Self.labelWidth), .faint)
    var used = Self.labelWidth
    for cell in cells {
      if used > Self.labelWidth, used + 3 + cell.width > width {
        lines.append(line)
        line = String(repeating: " ", count: Self.labelWidth)
        used = Self.labelWidth
      }
      if used > Self.labelWidth {
        line += "   "
        used += 3
      }
      // A cell that is too long for a line is truncated.
      let name = cell.name.prefix(max(0, width - used - 1))
      let value = cell.value.prefix(max(0, width - used - name.count - 1))
      line += styled(String(name), .faint) + " " + styled(String(value), cell.style)
      used += cell.width
    }
    return lines + [line]
  }

  /// The last seconds as a line of blocks, and their maximum; a gap for a second without a value.
  private func chart(
    _ label: String, _ values: [Double?], _ format: (Double) -> String, _ width: Int
  ) -> [String] {
    let room = min(60, width - Self.labelWidth - 16)
    let shown = values.suffix(max(0, room))
    guard room >= 8, let most = shown.compactMap({ $0 }).max() else { return [] }
    let blocks = Array("▁▂▃▄▅▆▇█")
    let line = shown.map { value -> Character in
      guard let value else { return " " }
      let level = most > 0 ? Int(value / most * 7.99) : 0
      return blocks[min(7, max(0, level))]
    }
    return [
      styled(label.padded(Self.labelWidth), .faint) + styled(String(line), .good)
        + styled(" ≤ \(format(most))", .faint)
    ]
  }

  // MARK: Styles

  enum Style: String {
    case strong = "1"
    case faint = "2"
    case good = "32"
    case bad = "1;31"
  }

  private func styled(_ text: String, _ style: Style) -> String {
    hasColour && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }
}
