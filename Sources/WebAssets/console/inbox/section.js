// One section of the list: its rows in their order, as far as they are loaded, and how to get more.
// Invariant: `ids` is sorted by the keys in `#keys`; a change of place takes a binary search, however
// many rows there are.

import { api } from '../shell/api.js';

const PAGE = 100; // rows of one answer, the most that the gateway gives

/**
 * By what rows stand where. A key is a string that sorts as the server sorts.
 * @type {Record<string, {title: string, query: Record<string, string>, oldest?: boolean,
 *   key: (row: any) => string}>}
 */
export const KINDS = {
  waiting: {
    title: 'Waiting, longest first',
    query: { status: 'waiting' },
    oldest: true,
    key: (row) => row.waiting_since ?? row.created_at,
  },
  mine: {
    title: 'Mine',
    query: { status: 'active', assignee: 'me' },
    key: (row) => row.updated_at,
  },
  others: { title: 'Assigned to others', query: { status: 'active' }, key: (row) => row.updated_at },
  closed: {
    title: 'Closed, latest first',
    query: { status: 'closed' },
    key: (row) => row.closed_at ?? row.created_at,
  },
};

export class Section {
  /** @type {string[]} in the order that is shown */ ids = [];
  loaded = false; failed = ''; cursor = /** @type {string?} */ (null);
  #kind; #keys = new Map(); #busy = false; #turn = 0;

  /** @param {keyof typeof KINDS} name */
  constructor(name) { this.name = name; this.#kind = KINDS[name]; }

  get title() { return this.#kind.title; }
  get hasMore() { return !!this.cursor; }
  has(id) { return this.#keys.has(id); }

  /** Puts a row where it belongs; says whether anything moved. */
  put(row) {
    const key = this.#kind.key(row) + row.id;
    const old = this.#keys.get(row.id);
    if (old === key) return false;
    if (old) this.ids.splice(this.#place(old), 1);
    this.#keys.set(row.id, key);
    this.ids.splice(this.#place(key), 0, row.id);
    return true;
  }

  remove(id) {
    const key = this.#keys.get(id);
    if (!key) return false;
    this.ids.splice(this.#place(key), 1);
    this.#keys.delete(id);
    return true;
  }

  /**
   * The first page anew, after a gap in the connection. What was loaded behind it stays where a
   * look at it is a look at history; of open conversations nothing stays that the server did not
   * name.
   * @param {Record<string, string>} filter
   * @param {(row: any) => any} take the newest that is known of a row, if it belongs here
   * @param {(id: string) => boolean} heard whether it came meanwhile by the socket
   */
  async load(filter, take, heard) {
    const turn = ++this.#turn;
    const page = await this.#ask(filter, null);
    if (!page || turn !== this.#turn) return null;
    const named = new Set(page.conversations.map(({ id }) => id));
    const last = page.conversations.at(-1);
    const end = last && this.name === 'closed' && page.next_cursor
      ? this.#kind.key(last) + last.id
      : null;
    const gone = this.ids.filter((id) => {
      if (named.has(id) || heard(id)) return false;
      return !end || this.#before(this.#keys.get(id), end);
    });
    for (const id of gone) this.remove(id);
    if (!end || !this.loaded) this.cursor = page.next_cursor;
    this.#takeAll(page, take);
    this.loaded = true;
    return page;
  }

  /** The page after the last row. @returns {Promise<any>} */
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
    this.#turn += 1;
    this.ids = [];
    this.#keys.clear();
    this.cursor = null;
    this.loaded = false;
  }

  #takeAll(page, take) {
    for (const row of page.conversations) {
      const taken = take(row);
      if (taken) this.put(taken);
    }
  }

  async #ask(filter, cursor) {
    try {
      const page = await api.list({ ...this.#kind.query, ...filter, limit: PAGE, cursor });
      this.failed = '';
      return page;
    } catch (error) {
      this.failed = error.status ? error.message : 'The server is not responding.';
      return null;
    }
  }

  #before(a, b) { return this.#kind.oldest ? a < b : a > b; }

  #place(key) {
    let low = 0;
    let high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#before(this.#keys.get(this.ids[middle]), key)) low = middle + 1; else high = middle;
    }
    return low;
  }
}
