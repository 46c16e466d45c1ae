// The conversation list as data: rows by id, counts, four views. Rows come by REST pages and are
// then replaced one by one by `inbox` events of the socket.

import { api } from './api.js';

const PAGE = 50;
const COUNT_EVERY = 2000; // ms between two questions for the counts

/**
 * @typedef {{id: string, status: string, visitor: any, assignee: any, last_seq: number,
 *   last_message: any, read_seq: number, visitor_read_seq: number, created_at: string,
 *   updated_at: string, waiting_since: string?, context: any, heard?: number}} Row
 */
/** @typedef {'waiting'|'mine'|'all'|'closed'} View */

export const VIEWS = /** @type {const} */ (['waiting', 'mine', 'all', 'closed']);
const QUERY = {
  waiting: { status: 'waiting' },
  mine: { status: 'open', assignee: 'me' },
  all: { status: 'open' },
  closed: { status: 'closed' },
};

export class Inbox {
  /** @type {Map<string, Row>} */ rows = new Map();
  counts = { waiting: 0, mine: 0, all: 0, closed: 0 };
  /** @type {View} */ view = 'all';
  loaded = false; asOf = 0; failed = '';
  #me; #changed; #cursor = null; #busy = false; #timer = 0; #stale = false;

  /** @param {{id: string}} me @param {() => void} changed */
  constructor(me, changed) { this.#me = me; this.#changed = changed; }

  /** @param {View} view */
  show(view) { this.view = view; this.loaded = false; this.#changed(); return this.load(); }

  /** The first page anew, after a change of view or a gap in the connection. */
  async load() {
    const { view } = this;
    const began = Date.now();
    try {
      const page = await api.list({ ...QUERY[view], limit: PAGE });
      if (view !== this.view) return;
      for (const [id, row] of this.rows) if (!(
        row.heard && row.heard >= began
      )) this.rows.delete(id);
      this.#take(page, began);
      this.failed = '';
    } catch (error) { this.failed = error.message; }
    this.#changed();
  }

  /** The next page, when the list is scrolled to its end. */
  async more() {
    if (!this.#cursor || this.#busy) return;
    this.#busy = true;
    const { view } = this;
    try {
      const page = await api.list({ ...QUERY[view], limit: PAGE, cursor: this.#cursor });
      if (view === this.view) this.#take(page, Date.now());
    } catch { /* scrolling again asks again */ } finally { this.#busy = false; }
    this.#changed();
  }

  event(frame) {
    if (frame.removed) { this.rows.delete(frame.session); this.#recount(); } else this.put(
      frame.conversation
    );
    this.asOf = Date.now();
    this.#changed();
  }

  /** A row that is newer than what is shown. */
  put(row) {
    const known = this.rows.get(row.id);
    this.rows.set(row.id, { ...row, heard: Date.now() });
    if (known?.status !== row.status || known?.assignee?.id !== row.assignee?.id) this.#recount();
  }

  mine(row) { return row.assignee?.id === this.#me.id; }

  /**
   * Sections in the order they are shown.
   * @param {View=} view
   * @returns {{title: string, rows: Row[], count: number}[]}
   */
  sections(view = this.view) {
    const rows = [...this.rows.values()].sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
    const open = rows.filter((row) => row.status !== 'closed');
    const waiting = open.filter((row) => row.status === 'waiting').sort((a, b) => (
      (a.waiting_since ?? a.created_at) > (b.waiting_since ?? b.created_at) ? 1 : -1
    ));
    const mine = open.filter((row) => row.status !== 'waiting' && this.mine(row));
    const { counts } = this;
    const first = { title: 'Waiting, longest first', rows: waiting, count: counts.waiting };
    const own = { title: 'Mine', rows: mine, count: counts.mine };
    if (view === 'waiting') return [first];
    if (view === 'mine') return [own];
    if (view === 'closed') {
      return [
        {
          title: 'Closed, latest first',
          rows: rows.filter((row) => row.status === 'closed'),
          count: counts.closed,
        },
      ];
    }
    const others = open.filter((row) => row.status !== 'waiting' && !this.mine(row));
    return [
      first,
      own,
      {
        title: 'Others',
        rows: others,
        count: Math.max(others.length, counts.all - counts.waiting - counts.mine),
      },
    ].filter((section) => section.rows.length);
  }

  get order() { return this.sections().flatMap((section) => section.rows); }

  #take(page, began) {
    for (const row of page.conversations) {
      const known = this.rows.get(row.id);
      if (!(known?.heard && known.heard > began)) this.rows.set(row.id, row);
    }
    this.#cursor = page.next_cursor;
    this.#count(page);
    this.loaded = true;
    this.asOf = Date.now();
  }

  #count(page) {
    this.counts = {
      waiting: page.waiting_count,
      mine: page.mine_count ?? 0,
      all: page.waiting_count + page.active_count,
      closed: page.closed_count ?? 0,
    };
  }

  /**
   * Counts of 100,000 rows are the server's business: asked for when a row changed its place, not
   * for each message.
   */
  #recount() {
    this.#stale = true;
    if (this.#timer) return;
    this.#timer = setTimeout(async () => {
      this.#stale = false;
      try { this.#count(await api.list({ limit: 1 })); } catch { this.#stale = true; }
      this.#changed();
      this.#timer = setTimeout(
        () => { this.#timer = 0; if (this.#stale) this.#recount(); },
        COUNT_EVERY,
      );
    }, 60);
  }
}

/** What a visitor is called who gave no name. */
export function nameOf(row) {
  if (row.visitor?.name) return row.visitor.name;
  const page = pathOf(row.context?.page);
  return page ? `Visitor from ${page}` : `Visitor ${tag(row)}`;
}
/** @param {any} page only a path is shown; what is no URL stays as it was written */
export function pathOf(page) {
  if (typeof page !== 'string') return '';
  try { return new URL(page).pathname; } catch { return page; }
}
const tag = (row) => String(row.visitor?.id ?? row.id).slice(-2).toUpperCase();
export const faceOf = (row) => ({
  kind: 'visitor',
  id: row.visitor?.id ?? row.id,
  name: row.visitor?.name,
});
export const unreadOf = (row) => (
  row.last_message?.role === 'visitor' ? Math.max(0, row.last_seq - row.read_seq) : 0
);
