// The data of the conversation list: rows by id, four sections in four views, counts. REST pages
// bring the rows; `inbox` events of the socket replace them one by one.
// Invariant: while `hold` returns true no row changes its place; moves are made afterwards.

import { api } from '../shell/api.js';
import { generatedName } from '../visitor/visitor-name.js';
import { isPossible, matches, queryOf } from './filters.js';
import { firstRows, Section } from './section.js';

const COUNT_EVERY = 2000; // ms between two requests of the counts
const COUNT_DELAY = 60; // ms; changes in this time are counted by one request
const BURST = 3; // changes between two requests; the counts after further ones are not estimated
const LOAD_EVERY = 3000; // ms between two loads of a list whose filters need the gateway
const CLOCK_EVERY = 10_000; // ms between two loads of a list that changes as time passes

/**
 * A row, and when the socket brought it, in ms of Date.now().
 * @typedef {ConversationRow & {receivedAt?: number}} Row
 */
/** @typedef {'waiting' | 'mine' | 'all' | 'closed'} Tab */
/** @typedef {import('./section.js').SectionName} SectionName */

export const VIEWS = /** @type {const} */ (['waiting', 'mine', 'all', 'closed']);
/** @type {Record<Tab, SectionName[]>} */
const SECTIONS = {
  waiting: ['waiting'],
  mine: ['mine'],
  all: ['waiting', 'mine', 'others'],
  closed: ['closed'],
};

/**
 * The first rows of the view that is shown first, requested before the console is there.
 * @typedef {Map<SectionName, Promise<ConversationPage>>} Ahead
 */

/** @returns {Ahead} */
export function requestAhead() {
  return new Map(SECTIONS.all.map((name) => {
    const page = firstRows(name);
    page.catch(() => {}); // the console, if it comes, says that there is no list
    return [name, page];
  }));
}

export class Inbox {
  /** @type {Map<string, Row>} */
  rows = new Map();
  counts = { waiting: 0, mine: 0, all: 0, closed: 0 };
  /** @type {Tab} */
  view = 'all';
  /** @type {Filters} */
  filter = {};
  /** Is called after each change that a saved view may count. */
  touched = () => {};
  /** When the list was last up to date, in ms of Date.now(). */
  asOf = 0;
  /** Whether rows must keep their places now. */
  hold = () => false;
  /**
   * Is called with each row that the socket brings, and with the row before.
   * @type {(row: Row | undefined, known?: Row) => void}
   */
  arrived = () => {};
  #me;
  #changed;
  #timer = 0;
  /** Whether the counts have changed since the last request. */
  #isStale = false;
  /** Changes of rows since the last request of the counts. */
  #changes = 0;
  /** When the rows were last requested, in ms of Date.now(). */
  #loadedAt = 0;
  #loadTimer = 0;
  /**
   * Ids of rows that may have to move.
   * @type {Set<string>}
   */
  #moves = new Set();
  #sections = {
    waiting: new Section('waiting'),
    mine: new Section('mine'),
    others: new Section('others'),
    closed: new Section('closed'),
  };

  /**
   * @param {{id: string}} me
   * @param {() => void} changed
   */
  constructor(me, changed) { this.#me = me; this.#changed = changed; }

  /** @param {Tab} view */
  #names(view) {
    return SECTIONS[view].filter((name) => isPossible(name, this.filter, this.#me.id));
  }

  get #shown() { return this.#names(this.view).map((name) => this.#sections[name]); }
  /** The number of loaded conversations of this operator with unread messages. */
  get unread() {
    let count = 0;
    for (const row of this.rows.values()) {
      if (row.status === 'active' && this.mine(row) && unreadOf(row)) count += 1;
    }
    return count;
  }

  get loaded() { return this.#shown.every((section) => section.loaded); }
  get failed() { return this.#shown.find((section) => section.failed)?.failed ?? ''; }

  /** @param {Tab} view */
  show(view) {
    this.view = view;
    this.settle(true);
    this.#changed();
    return this.load();
  }

  /**
   * @param {Filters} filter
   * @param {Tab=} view
   */
  narrow(filter, view = this.view) {
    this.filter = filter;
    this.view = view;
    for (const section of Object.values(this.#sections)) section.forget();
    this.#changed();
    return this.load();
  }

  /**
   * Loads the first pages, after a change of the view or a gap in the connection.
   * @param {Ahead=} ahead
   */
  async load(ahead) {
    const began = Date.now();
    this.#loadedAt = began;
    this.touched();
    /** @param {string} id */
    const isNewer = (id) => (this.rows.get(id)?.receivedAt ?? 0) >= began;
    await Promise.all(this.#shown.map(async (section) => {
      const page = await section.load(queryOf(section.name, this.filter),
        this.#taker(section, began), isNewer, ahead?.get(section.name));
      if (page) this.#paged(page);
      this.#changed();
    }));
  }

  /**
   * Loads the next page of a section.
   * @param {SectionName} name
   */
  async more(name) {
    const section = this.#sections[name];
    const page = await section.more(queryOf(name, this.filter), this.#taker(section, Date.now()));
    if (page) { this.#paged(page); this.#changed(); }
  }

  /** @param {InboxFrame} frame */
  receive({ session, conversation }) {
    if (conversation) {
      const known = this.rows.get(conversation.id);
      this.put(conversation);
      this.arrived(this.rows.get(conversation.id), known);
    } else {
      this.rows.delete(session);
      this.#moves.add(session);
      this.#recount();
    }
    this.touched();
    this.asOf = Date.now();
    this.#changed();
  }

  /** Loads the list anew if it has changed because time has passed. Is called once a second. */
  tick() {
    const { waiting_minutes: waiting, due_minutes: due } = this.filter;
    if ((waiting || due !== undefined) && Date.now() - this.#loadedAt >= CLOCK_EVERY) this.load();
  }

  /**
   * Takes a row that is newer than the one shown.
   * @param {ConversationRow} row
   */
  put(row) {
    const known = this.rows.get(row.id);
    this.rows.set(row.id, { ...known, ...row, receivedAt: Date.now() });
    if (known?.status !== row.status || known?.assignee?.id !== row.assignee?.id) {
      // of many changes at once the answer has some whose events come after it
      this.#changes += 1;
      if (this.#changes <= BURST) {
        this.#shift(known, -1);
        this.#shift(row, 1);
      }
      this.#recount();
    }
    this.touched();
    this.#moves.add(row.id);
    this.settle();
  }

  /** Makes the moves that had to wait, unless the list is still held. */
  settle(now = !this.hold()) {
    if (!now || !this.#moves.size) return;
    for (const id of this.#moves) {
      const row = this.rows.get(id);
      const home = row && this.#belongs(row) ? this.#home(row) : '';
      for (const section of Object.values(this.#sections)) {
        if (row && section.name === home) section.put(row); else section.remove(id);
      }
    }
    this.#moves.clear();
    this.#changed();
  }

  /** @param {ConversationRow} row */
  mine(row) { return row.assignee?.id === this.#me.id; }

  /**
   * Whether this operator wrote the last message.
   * @param {ConversationRow} row
   */
  wrote(row) { return authorOf(row)?.id === this.#me.id; }

  /**
   * The sections of a view, in their order.
   * @param {Tab=} view
   * @returns {{name: SectionName, title: string, ids: string[], count: number, hasMore: boolean}[]}
   */
  sections(view = this.view) {
    const { counts } = this;
    const others = Math.max(0, counts.all - counts.waiting - counts.mine);
    const count = { ...counts, others };
    const narrowed = Object.keys(this.filter).length > 0;
    return this.#names(view).map((name) => {
      const { title, ids, hasMore } = this.#sections[name];
      return { name, title, ids, hasMore, count: narrowed ? ids.length : count[name] };
    });
  }

  /**
   * Whether the row is among the loaded rows of the view.
   * @param {string} id
   */
  shows(id) { return this.#shown.some((section) => section.has(id)); }

  /**
   * The section that a row belongs to.
   * @param {Row} row
   * @returns {SectionName}
   */
  #home(row) {
    if (row.status === 'closed') return 'closed';
    if (row.status === 'waiting') return 'waiting';
    return this.mine(row) ? 'mine' : 'others';
  }

  /** @param {Row} row */
  #fits(row) { return matches(this.filter, row, this.#me.id); }

  /**
   * Whether a row that the socket has brought matches. It has no attributes: with such a filter it
   * stays where it is, and the gateway decides soon.
   * @param {Row} row
   */
  #belongs(row) {
    if (!this.#fits(row)) return false;
    if (!this.filter.attribute || row.status === 'closed') return true;
    this.#loadTimer ||= setTimeout(() => { this.#loadTimer = 0; this.load(); },
      Math.max(COUNT_DELAY, this.#loadedAt + LOAD_EVERY - Date.now()));
    return Object.values(this.#sections).some((section) => section.has(row.id));
  }

  /**
   * Returns a function that stores a row of a page, and returns the newest state of it if that
   * belongs to the section.
   * @param {Section} section
   * @param {number} began when the page was requested
   * @returns {(row: ConversationRow) => Row?}
   */
  #taker(section, began) {
    return (row) => {
      const known = this.rows.get(row.id);
      const isOld = known?.receivedAt && known.receivedAt > began;
      const latest = isOld ? known : { ...known, ...row };
      this.rows.set(row.id, latest);
      const home = this.#home(latest);
      for (const other of Object.values(this.#sections)) {
        if (other.name !== home) other.remove(row.id);
      }
      return home === section.name && this.#fits(latest) ? latest : null;
    };
  }

  /** @param {ConversationPage} page */
  #paged(page) { this.#count(page); this.asOf = Date.now(); }

  /** @param {ConversationPage} page */
  #count(page) {
    this.counts = {
      waiting: page.waiting_count,
      mine: page.mine_count ?? 0,
      all: page.waiting_count + page.active_count,
      closed: page.closed_count ?? 0,
    };
  }

  /**
   * Estimates the counts after the change of a row, until the server sends them.
   * @param {Row | undefined} row
   * @param {number} by 1 or -1
   */
  #shift(row, by) {
    if (!row) return;
    const { counts } = this;
    /** @param {Tab} name */
    const add = (name) => { counts[name] = Math.max(0, counts[name] + by); };
    if (row.status === 'closed') return add('closed');
    add('all');
    if (row.status === 'waiting') add('waiting');
    if (this.mine(row)) add('mine');
  }

  /**
   * Requests the counts: after a row has changed its section, not after each message. The server
   * counts, since there may be 100,000 rows.
   */
  #recount() {
    this.#isStale = true;
    if (this.#timer) return;
    this.#timer = setTimeout(async () => {
      this.#isStale = false;
      try {
        this.#count(await api.list({ status: 'waiting', limit: 1 }));
      } catch { this.#isStale = true; }
      this.#changed();
      this.#timer = setTimeout(
        () => { this.#timer = this.#changes = 0; if (this.#isStale) this.#recount(); },
        COUNT_EVERY,
      );
    }, COUNT_DELAY);
  }
}

/**
 * The visitor's name, or a generated one.
 * @param {ConversationRow} row
 */
export const nameOf = (row) => row.visitor?.name || generatedName(row.visitor?.id ?? row.id);

/**
 * The path of a URL; of a site's first page, its host too. Another text is returned as it is.
 * @param {unknown} page
 */
export function pathOf(page) {
  if (typeof page !== 'string') return '';
  try {
    const { protocol, host, pathname } = new URL(page);
    if (!/^https?:$/.test(protocol)) return page;
    return pathname === '/' ? `${host}/` : pathname;
  } catch { return page; }
}

/** @param {ConversationRow} row */
export const faceOf = (row) => ({
  kind: 'visitor',
  id: row.visitor?.id ?? row.id,
  name: nameOf(row),
});

/**
 * The operator who wrote the last message.
 * @param {ConversationRow} row
 */
export const authorOf = ({ last_message: last, assignee }) => (
  last?.role === 'operator' ? last.operator ?? assignee : null
);

/**
 * The number of the visitor's unread messages. An older gateway does not count them: then also of
 * later notes.
 * @param {ConversationRow} row
 */
export const unreadOf = (row) => row.unread ?? (
  row.last_message?.role === 'visitor' ? Math.max(0, row.last_seq - row.read_seq) : 0
);
