/// The style sheet of a report: the product's colours and sizes, light and dark, for paper and
/// phones.
enum Style {
  static let text = tokens + layout + charts + narrow

  private static let tokens = """
    :root { color-scheme: light dark;
    --bg: light-dark(#f2f5f5, #0d1314); --surface: light-dark(#fff, #151c1d);
    --sunken: light-dark(#ecf0f0, #202a2b); --hair: light-dark(#dfe5e5, #283334);
    --field: light-dark(#829091, #6a7b7c); --text: light-dark(#141b1c, #e9efef);
    --text-2: light-dark(#435051, #b4c1c1); --text-3: light-dark(#596768, #96a5a5);
    --accent: light-dark(#0a655b, #62cfbc); --accent-soft: light-dark(#e0f2ee, #12302c);
    --accent-line: light-dark(#a3d3ca, #245a52);
    --warn: light-dark(#7d4700, #f0bd66); --warn-soft: light-dark(#fff2da, #33270f);
    --danger: light-dark(#a8231b, #ff9f95); --danger-soft: light-dark(#fdeae8, #3a1a17);
    --danger-line: light-dark(#f0b3ad, #77332d);
    --s1: light-dark(#0b7468, #4fc4b1); --s2: light-dark(#b86a00, #e8a845);
    --s3: light-dark(#6d3f86, #c9a1dc); --s4: light-dark(#7c8a8b, #7f9090);
    --grid: light-dark(#e6ebeb, #243031);
    --font: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono",
      monospace; }

    """

  private static let layout = """
    *, *::before, *::after { box-sizing: border-box; }
    html { text-size-adjust: 100%; }
    body { margin: 0; font: 14px/20px var(--font); color: var(--text); background: var(--bg);
      -webkit-font-smoothing: antialiased; }
    h1, h2, h3, p, dl, dd, ul, pre { margin: 0; padding: 0; }
    main { width: 1248px; max-width: 100%; margin: 0 auto; padding: 32px 24px 64px; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    header { display: flex; align-items: center; gap: 12px; margin-bottom: 24px; }
    header > div { flex: 1; min-width: 0; }
    header > svg { flex: none; width: 32px; height: 32px; color: var(--accent); }
    h1 { font: 600 18px/24px var(--font); overflow-wrap: anywhere; }
    header p { font-size: 12px; line-height: 16px; color: var(--text-3); }
    .verdict { display: inline-flex; align-items: center; gap: 4px; flex: none; height: 28px;
      padding: 0 12px 0 8px; border-radius: 99px; font-weight: 600; background: var(--accent-soft);
      color: var(--accent); }
    .icon { width: 20px; height: 20px; flex: none; fill: none; stroke: currentColor;
      stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
    .verdict.bad { background: var(--danger-soft); color: var(--danger); }
    .verdict.warn { background: var(--warn-soft); color: var(--warn); }
    .card { margin-bottom: 24px; border: 1px solid var(--hair); border-radius: 12px;
      background: var(--surface); overflow: clip; }
    .proof { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr);
      padding: 24px 20px 20px; }
    .proof > div { position: relative; padding: 0 16px; text-align: center; }
    .proof > div + div::before { content: "=" / ""; position: absolute; top: 20px; left: -12px;
      width: 24px; font: 400 28px/40px var(--font); color: var(--text-3); text-align: center; }
    .proof > div.off::before { content: "≠" / ""; color: var(--danger); font-weight: 600; }
    .proof dt { color: var(--text-2); }
    .proof dd { font: 600 32px/40px var(--font); font-variant-numeric: tabular-nums;
      letter-spacing: -.01em; }
    .proof div.off dd:first-of-type { color: var(--danger); }
    .proof dd + dd { font: 12px/16px var(--font); letter-spacing: 0; color: var(--text-3); }
    .zeros { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr);
      background: var(--accent-soft); }
    .zeros > div { display: grid; grid-template-columns: auto 1fr; gap: 0 12px;
      align-items: center; align-content: start; padding: 12px 20px; }
    .zeros > div + div { border-left: 1px solid var(--hair); }
    .zeros dd:first-of-type { grid-row: 1 / span 2; grid-column: 1; color: var(--accent);
      font: 600 28px/32px var(--font); font-variant-numeric: tabular-nums; }
    .zeros dt { grid-column: 2; grid-row: 1; font-weight: 600; }
    .zeros dd:last-of-type { grid-column: 2; font: 12px/16px var(--font); color: var(--text-2); }
    .zeros > div.bad { background: var(--danger-soft); }
    .zeros > div.bad dd:first-of-type { color: var(--danger); }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); }
    .tiles > div { padding: 16px 20px; box-shadow: -1px 0 var(--hair); }
    .tiles dt { font-size: 13px; color: var(--text-2); }
    .tiles dd { font: 600 28px/36px var(--font); font-variant-numeric: tabular-nums; }
    .grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 24px;
      grid-auto-flow: dense; }
    .panel { padding: 20px; margin: 0; }
    main > .panel { margin-bottom: 24px; }
    .panel.full { grid-column: 1 / -1; }
    .panel h2 { font: 600 14px/20px var(--font); }
    .panel h2 + p { font-size: 13px; color: var(--text-2); }
    .panel .chart + h2 { margin-top: 24px; }
    .panel.bad { border-color: var(--danger-line); }
    .panel ul { margin: 8px 0 0; padding-left: 18px; overflow-wrap: anywhere; }
    .env { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 16px;
      margin-top: 12px; font-size: 13px; }
    .env dt { color: var(--text-3); }
    @media (min-width: 901px) {
      .full > .env { grid-template-columns: repeat(2, max-content minmax(0, 1fr)); } }
    .env dd { overflow-wrap: anywhere; }
    pre { margin: 16px 0 0; padding: 12px 16px; border: 1px solid var(--hair); border-radius: 8px;
      background: var(--sunken); font: 12px/20px var(--mono); white-space: pre-wrap;
      overflow-wrap: anywhere; }
    .scroll { overflow: auto; max-height: 420px; margin-top: 12px; }
    table { width: 100%; margin-top: 12px; border-collapse: collapse; font-size: 13px;
      font-variant-numeric: tabular-nums; }
    .scroll table { margin-top: 0; }
    th, td { height: 30px; padding: 0 12px; border-bottom: 1px solid var(--hair);
      text-align: right; white-space: nowrap; font-weight: 400; }
    thead th { height: 32px; font-size: 12px; color: var(--text-3); background: var(--surface); }
    .scroll thead th { position: sticky; top: 0; }
    th:first-child, td:first-child { padding-left: 0; text-align: left; }
    th:last-child, td:last-child { padding-right: 0; }
    tbody th { font-weight: 500; }
    tbody tr:last-child > * { border-bottom: 0; }
    .state { display: inline-flex; align-items: center; gap: 4px; font-weight: 600;
      color: var(--accent); }
    .state .icon { width: 16px; height: 16px; }
    .state.bad { color: var(--danger); } .state.calm { color: var(--text-3); font-weight: 400; }
    .state.warn { color: var(--warn); }
    details > summary { cursor: pointer; font: 600 14px/20px var(--font); }
    footer { margin-top: 24px; font-size: 12px; color: var(--text-3); }

    """

  private static let charts = """
    .chart { container-type: inline-size; margin-top: 16px; }
    .chart svg { display: none; height: auto; max-width: 100%; overflow: visible; }
    .chart .mid { display: block; width: 100%; max-width: 760px; }
    @container (min-width: 1000px) {
      .chart:not(.half) .mid { display: none; }
      .chart .wide { display: block; width: 100%; } }
    @container (max-width: 459px) {
      .chart .mid { display: none; }
      .chart .narrow { display: block; width: 100%; }
      .chart .narrow .line { stroke-width: 1.5; } }
    .chart text { font: 11px/16px var(--font); fill: var(--text-3);
      font-variant-numeric: tabular-nums; }
    .chart text.strong { font-weight: 600; fill: var(--text); }
    .chart text.name { font-size: 13px; fill: var(--text); }
    .grid-line { stroke: var(--grid); } .base { stroke: var(--field); }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
    .spread { stroke: var(--text-2); stroke-width: 1.5; }
    .line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); }
    .line.s3 { stroke: var(--s3); } .line.s4 { stroke: var(--s4); }
    .f1 { fill: var(--s1); } .f2 { fill: var(--s2); } .f3 { fill: var(--s3); }
    .f4 { fill: var(--s4); }
    .chart text.f1, .chart text.f2, .chart text.f3, .chart text.f4 { font-weight: 600; }
    .chart text.f1 { fill: var(--accent); } .chart text.f2 { fill: var(--warn); }
    .chart text.f3 { fill: var(--s3); } .chart text.f4 { fill: var(--text-2); }
    .ring { stroke: var(--surface); stroke-width: 2; }
    .fault { fill: var(--warn-soft); }
    .hits rect { fill: transparent; }
    .hits rect:hover { fill: var(--text); fill-opacity: .06; }

    """

  private static let narrow = """
    @media (max-width: 900px) {
      main { padding: 24px 16px 48px; }
      .grid { grid-template-columns: minmax(0, 1fr); gap: 16px; } .card { margin-bottom: 16px; }
      .panel { padding: 16px; margin: 0; } }
    @media (max-width: 700px) {
      header { flex-wrap: wrap; } header > div { flex-basis: calc(100% - 60px); }
      .proof { grid-auto-flow: row; gap: 44px; padding: 20px 16px; }
      .proof > div + div::before { top: -42px; left: 0; width: 100%; }
      .proof > div.off::before { top: -42px; }
      .zeros { grid-auto-flow: row; grid-template-columns: 1fr 1fr; }
      .zeros > div { padding: 12px 16px; border-top: 1px solid var(--hair); }
      .zeros > div:nth-child(odd) { border-left: 0; }
      .zeros > div:last-child:nth-child(odd) { grid-column: 1 / -1; }
      .tiles { grid-template-columns: 1fr 1fr; }
      .env { grid-template-columns: minmax(0, 1fr); gap: 0; } .env dd { margin-bottom: 8px; }
      th, td { padding: 0 8px; } }
    @media print {
      :root { color-scheme: light; } body { background: none; }
      main { width: auto; padding: 0; } .card { break-inside: avoid; }
      .scroll { max-height: none; overflow: visible; } details:not([open]) { display: none; }
      * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
    @media (forced-colors: active) {
      .zeros > div, .verdict { border: 1px solid; } .line { stroke: CanvasText; }
      .fault { fill: none; stroke: CanvasText; stroke-dasharray: 2 3; } }

    """
}
