// One section of the list: the loaded rows in their order, and the requests for more.
// Invariant: `ids` is sorted by the keys in `#keys`, so a move takes a binary search.

import { api, reasonOf } from '../shell/api.js';
import { t } from '../shell/language.js';

const PAGE = 100; // rows of one answer, the maximum of the gateway
const FIRST = 12; // rows, about as many as fit into a window

/** @typedef {import('./inbox.js').Row} Row */
/** @typedef {'waiting' | 'mine' | 'others' | 'closed'} SectionName */
/** @typedef {(row: ConversationRow) => Row?} Take */

/**
 * The query and the order of each section. The keys sort as the server does.
 * @type {Record<SectionName, {title: string, query: Record<string, string>, oldest?: boolean,
 *   key: (row: Row) => string}>}
 */
export const KINDS = {
  waiting: {
    title: t('Waiting, longest first'),
    query: { status: 'waiting' },
    oldest: true,
    key: (row) => row.waiting_since ?? row.created_at,
  },
  mine: {
    title: t('Mine'),
    query: { status: 'active', assignee: 'me' },
    key: (row) => row.updated_at,
  },
  others: { title: t('Assigned to others'), query: { status: 'active' }, key: (row) => row.updated_at },
  closed: {
    title: t('Closed, latest first'),
    query: { status: 'closed' },
    key: (row) => row.closed_at ?? row.created_at,
  },
};

/**
 * Requests the rows that fit into a window, before the section loads its first page.
 * @param {SectionName} name
 */
export const firstRows = (name) => api.list({ ...KINDS[name].query, limit: FIRST });

export class Section {
  /** @type {string[]} */
  ids = [];
  loaded = false;
  failed = '';
  /** @type {string?} */
  cursor = null;
  #kind;
  /** @type {Map<string, string>} */
  #keys = new Map();
  #busy = false;
  /** Counts the loads. */
  #turn = 0;
  /** The newest load whose answer was taken: an older answer is dropped. */
  #taken = 0;

  /** @param {SectionName} name */
  constructor(name) { this.name = name; this.#kind = KINDS[name]; }

  get title() { return this.#kind.title; }
  get hasMore() { return !!this.cursor; }
  /** @param {string} id */
  has(id) { return this.#keys.has(id); }

  /**
   * Moves a row to its place.
   * @param {Row} row
   */
  put(row) {
    const key = this.#kind.key(row) + row.id;
    const old = this.#keys.get(row.id);
    if (old === key) return;
    if (old) this.ids.splice(this.#place(old), 1);
    this.#keys.set(row.id, key);
    this.ids.splice(this.#place(key), 0, row.id);
  }

  /** @param {string} id */
  remove(id) {
    const key = this.#keys.get(id);
    if (!key) return;
    this.ids.splice(this.#place(key), 1);
    this.#keys.delete(id);
  }

  /**
   * Loads the first page anew, after a gap in the connection. Closed conversations of later pages
   * stay; open ones stay only if the page has them.
   * @param {Query} filter
   * @param {Take} take returns the newest state of a row, or null if it belongs elsewhere
   * @param {(id: string) => boolean} isNewer whether the socket has brought the row meanwhile
   * @param {Promise<ConversationPage>=} ahead its first rows; a whole load follows
   */
  async load(filter, take, isNewer, ahead) {
    const turn = ++this.#turn;
    const page = await this.#ask(filter, null, ahead);
    if (!page || turn <= this.#taken) return null;
    this.#taken = turn;
    const listed = new Set(page.conversations.map(({ id }) => id));
    const last = page.conversations.at(-1);
    const end = last && this.name === 'closed' && page.next_cursor
      ? this.#kind.key(last) + last.id
      : null;
    const gone = this.ids.filter((id) => {
      if (listed.has(id) || isNewer(id)) return false;
      return !end || this.#before(this.#keyOf(id), end);
    });
    for (const id of gone) this.remove(id);
    if (!ahead && (!end || !this.loaded)) this.cursor = page.next_cursor;
    this.#takeAll(page, take);
    this.loaded = true;
    return page;
  }

  /**
   * Loads the page after the last row.
   * @param {Query} filter
   * @param {Take} take
   */
  async more(filter, take) {
    if (!this.cursor || this.#busy) return null;
    this.#busy = true;
    const turn = this.#turn;
    try {
      const page = await this.#ask(filter, this.cursor);
      if (!page || turn !== this.#turn) return null;
      this.cursor = page.next_cursor;
      this.#takeAll(page, take);
      return page;
    } finally { this.#busy = false; }
  }

  forget() {
    this.#taken = ++this.#turn;
    this.ids = [];
    this.#keys.clear();
    this.cursor = null;
    this.loaded = false;
  }

  /**
   * @param {ConversationPage} page
   * @param {Take} take
   */
  #takeAll(page, take) {
    for (const row of page.conversations) {
      const taken = take(row);
      if (taken) this.put(taken);
    }
  }

  /**
   * @param {Query} filter
   * @param {string?} cursor
   * @param {Promise<ConversationPage>=} ahead
   */
  async #ask(filter, cursor, ahead) {
    try {
      const page = await (ahead
        ?? api.list({ ...filter, ...this.#kind.query, limit: PAGE, cursor }));
      this.failed = '';
      return page;
    } catch (error) {
      this.failed = reasonOf(error, t('The server is not responding.'));
      return null;
    }
  }

  /** @param {string} id */
  #keyOf(id) { return this.#keys.get(id) ?? ''; }

  /**
   * @param {string} a
   * @param {string} b
   */
  #before(a, b) { return this.#kind.oldest ? a < b : a > b; }

  /**
   * The index of the first row that does not come before `key`.
   * @param {string} key
   */
  #place(key) {
    let low = 0;
    let high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#before(this.#keyOf(this.ids[middle]), key)) low = middle + 1; else high = middle;
    }
    return low;
  }
}
