// The conversation list as data: rows by id, four sections in four views, counts. Rows come by REST
// pages and are then replaced one by one by `inbox` events of the socket.
// Invariant: while `hold` says so no row changes its place; what moved meanwhile moves afterwards.

import { api } from '../shell/api.js';
import { Section } from './section.js';

const COUNT_EVERY = 2000; // ms between two questions for the counts

/**
 * @typedef {{id: string, status: string, visitor: any, assignee: any, last_seq: number,
 *   last_message: any, read_seq: number, visitor_read_seq: number, created_at: string,
 *   updated_at: string, waiting_since: string?, context: any, tags?: string[], heard?: number,
 *   rating?: number?, rating_comment?: string?, closed_at?: string}} Row
 */
/** @typedef {'waiting'|'mine'|'all'|'closed'} View */

export const VIEWS = /** @type {const} */ (['waiting', 'mine', 'all', 'closed']);
const PARTS = {
  waiting: ['waiting'],
  mine: ['mine'],
  all: ['waiting', 'mine', 'others'],
  closed: ['closed'],
};

export class Inbox {
  /** @type {Map<string, Row>} */ rows = new Map();
  counts = { waiting: 0, mine: 0, all: 0, closed: 0 };
  /** @type {View} */ view = 'all';
  /** What else a row must have: `{tag: 'brakes'}`. */ filter = {};
  asOf = 0;
  /** Whether rows must stay where they are just now. */ hold = () => false;
  /**
   * Called with each row that came by the socket and what was known of it.
   * @type {(row: Row, known?: Row) => void}
   */
  arrived = () => {};
  #me; #changed; #timer = 0; #stale = false; #late = /** @type {Set<string>} */ (new Set());
  #sections = {
    waiting: new Section('waiting'),
    mine: new Section('mine'),
    others: new Section('others'),
    closed: new Section('closed'),
  };

  /** @param {{id: string}} me @param {() => void} changed */
  constructor(me, changed) { this.#me = me; this.#changed = changed; }

  get #parts() { return PARTS[this.view].map((name) => this.#sections[name]); }
  get loaded() { return this.#parts.every((section) => section.loaded); }
  get failed() { return this.#parts.find((section) => section.failed)?.failed ?? ''; }

  /** @param {View} view */
  show(view) {
    this.view = view;
    this.settle(true);
    this.#changed();
    return this.load();
  }

  /** @param {Record<string, string>} filter */
  narrow(filter) {
    this.filter = filter;
    for (const section of Object.values(this.#sections)) section.forget();
    this.#changed();
    return this.load();
  }

  /** The first pages anew, after a change of view or a gap in the connection. */
  async load() {
    const began = Date.now();
    const heard = (id) => (this.rows.get(id)?.heard ?? 0) >= began;
    await Promise.all(this.#parts.map(async (section) => {
      const page = await section.load(this.filter, this.#taker(section, began), heard);
      if (page) this.#paged(page);
      this.#changed();
    }));
  }

  /** The next page of a section, when the list is scrolled to its end. */
  async more(name) {
    const section = this.#sections[name];
    const page = await section.more(this.filter, this.#taker(section, Date.now()));
    if (page) { this.#paged(page); this.#changed(); }
  }

  event(frame) {
    if (frame.removed) {
      this.rows.delete(frame.session);
      this.#late.add(frame.session);
      this.#recount();
    } else {
      const known = this.rows.get(frame.conversation.id);
      this.put(frame.conversation);
      this.arrived(this.rows.get(frame.conversation.id), known);
    }
    this.asOf = Date.now();
    this.#changed();
  }

  /** A row that is newer than what is shown. */
  put(row) {
    const known = this.rows.get(row.id);
    this.rows.set(row.id, { ...known, ...row, heard: Date.now() });
    if (known?.status !== row.status || known?.assignee?.id !== row.assignee?.id) {
      this.#shift(known, -1);
      this.#shift(row, 1);
      this.#recount();
    }
    this.#late.add(row.id);
    this.settle();
  }

  /** What could not move, because somebody points at the list, moves now. */
  settle(now = !this.hold()) {
    if (!now || !this.#late.size) return;
    for (const id of this.#late) {
      const row = this.rows.get(id);
      const home = row && this.#fits(row) ? this.#home(row) : '';
      for (const section of Object.values(this.#sections)) {
        // one that lies behind the loaded rows comes with its page
        if (section.name === home) section.put(row); else section.remove(id);
      }
    }
    this.#late.clear();
    this.#changed();
  }

  mine(row) { return row.assignee?.id === this.#me.id; }

  /**
   * Sections in the order they are shown.
   * @param {View=} view
   * @returns {{name: string, title: string, ids: string[], count: number, hasMore: boolean}[]}
   */
  sections(view = this.view) {
    const { counts } = this;
    const others = Math.max(0, counts.all - counts.waiting - counts.mine);
    const count = { ...counts, others };
    const narrowed = Object.keys(this.filter).length > 0;
    return PARTS[view].map((name) => {
      const { title, ids, hasMore } = this.#sections[name];
      return { name, title, ids, hasMore, count: narrowed ? ids.length : count[name] };
    });
  }

  /** Whether the view has this row, as far as it is loaded. */
  shows(id) { return this.#parts.some((section) => section.has(id)); }

  /** The one who has waited longest, as far as is known. */
  get longest() { return this.rows.get(this.#sections.waiting.ids[0]); }

  #home(row) {
    if (row.status === 'closed') return 'closed';
    if (row.status === 'waiting') return 'waiting';
    return this.mine(row) ? 'mine' : 'others';
  }

  #fits(row) { return !this.filter.tag || !row.tags || row.tags.includes(this.filter.tag); }

  /** Of a row of a page the newest that is known, if it belongs to the section that asked. */
  #taker(section, began) {
    return (row) => {
      const known = this.rows.get(row.id);
      const isOld = known?.heard && known.heard > began;
      if (!isOld) this.rows.set(row.id, { ...known, ...row });
      const latest = this.rows.get(row.id);
      const home = this.#home(latest);
      for (const other of Object.values(this.#sections)) {
        if (other.name !== home) other.remove(row.id);
      }
      return home === section.name && this.#fits(latest) ? latest : null;
    };
  }

  #paged(page) { this.#count(page); this.asOf = Date.now(); }

  #count(page) {
    this.counts = {
      waiting: page.waiting_count,
      mine: page.mine_count ?? 0,
      all: page.waiting_count + page.active_count,
      closed: page.closed_count ?? 0,
    };
  }

  /** What a row's change means for the counts, until the server says them. */
  #shift(row, by) {
    if (!row) return;
    const { counts } = this;
    const add = (name) => { counts[name] = Math.max(0, counts[name] + by); };
    if (row.status === 'closed') return add('closed');
    add('all');
    if (row.status === 'waiting') add('waiting');
    if (this.mine(row)) add('mine');
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
      try {
        this.#count(await api.list({ status: 'waiting', limit: 1 }));
      } catch { this.#stale = true; }
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
  try {
    const { protocol, pathname } = new URL(page);
    return /^https?:$/.test(protocol) ? pathname : page;
  } catch { return page; }
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
