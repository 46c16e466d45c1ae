// A window over a log, away from its end: around a hit of the search, or where the reader has
// scrolled to. The thread draws it like a conversation; it can be extended in both directions.
// Invariant: it holds at most `WINDOW` entries; those that are added at one end leave at the other.

import { Kind } from '../../shared/protocol.js';
import { api, reasonOf } from '../shell/api.js';
import { t } from '../shell/language.js';

const PAGE = 50; // entries of one request
export const WINDOW = 300; // entries

/** @typedef {import('../../shared/conversation.js').Conversation} Conversation */

/**
 * Drops the oldest entries of a conversation whose end is followed. They can be loaded again.
 * @param {Conversation} talk
 */
export function trim(talk) {
  const { entries, ids } = talk;
  if (entries.length <= 2 * WINDOW) return;
  for (const { id } of entries.splice(0, entries.length - WINDOW)) ids.delete(id);
  talk.oldest = entries[0].seq;
}

export class Excerpt {
  /** @type {Entry[]} */
  entries = [];
  /** @type {Map<string, Entry>} */
  ids = new Map();
  oldest = 0;
  newest = 0;
  head = 0;
  live = false;
  loading = false;
  failed = '';
  typing = { others: new Map() };
  #changed;

  /**
   * @param {string} session
   * @param {number} seq of the entry to show
   * @param {{reached: (kind: string) => Mark}} marks of the live conversation
   * @param {() => void} changed
   */
  constructor(session, seq, marks, changed) {
    this.session = session;
    this.seq = seq;
    this.marks = marks;
    this.#changed = changed;
  }

  /**
   * Takes over the oldest entries of a conversation.
   * @param {Conversation} talk
   * @param {() => void} changed
   */
  static from(talk, changed) {
    const part = new Excerpt(talk.session, talk.oldest, talk.marks, changed);
    part.#take(talk.entries.slice(0, WINDOW));
    part.oldest = talk.oldest;
    part.newest = part.entries.at(-1)?.seq ?? talk.oldest;
    part.head = talk.head;
    return part;
  }

  /** The id of the entry to show, '' if it does not exist. */
  get hit() { return this.entries.find(({ seq }) => seq >= this.seq)?.id ?? ''; }

  /** Loads the entries around the one to show; returns whether it succeeded. */
  async load() {
    await this.#page({ around: this.seq, limit: PAGE }, (page) => {
      this.newest = Math.max(...page.messages.map(({ seq }) => seq), this.seq);
      this.oldest = Math.min(...page.messages.map(({ seq }) => seq), this.seq);
    });
    return !this.failed;
  }

  async older() {
    if (this.oldest <= 1) return;
    await this.#page({ before: this.oldest, limit: PAGE }, (page) => {
      this.oldest = Math.min(this.oldest, ...page.messages.map(({ seq }) => seq));
      if (!page.more) this.oldest = 1;
      const gone = this.entries.splice(WINDOW);
      if (gone.length) this.newest = gone[0].seq - 1;
      this.#forget(gone);
    });
  }

  async newer() {
    if (this.newest >= this.head) return;
    await this.#page({ after: this.newest, limit: PAGE }, (page) => {
      this.newest = Math.max(this.newest, ...page.messages.map(({ seq }) => seq));
      if (!page.more) this.newest = Math.max(this.newest, page.head);
      const gone = this.entries.splice(0, Math.max(0, this.entries.length - WINDOW));
      if (gone.length) this.oldest = gone[gone.length - 1].seq + 1;
      this.#forget(gone);
    });
  }

  /**
   * @param {Query} query
   * @param {(page: MessagePage) => void} place updates the bounds
   */
  async #page(query, place) {
    if (this.loading) return;
    this.loading = true;
    try {
      const page = await api.messages(this.session, query);
      this.head = Math.max(this.head, page.head);
      this.#take(page.messages);
      place(page);
      this.failed = '';
    } catch (error) {
      this.failed = reasonOf(error, t('The server is not responding.'));
    } finally { this.loading = false; }
    this.#changed();
  }

  /** @param {Entry[]} entries */
  #take(entries) {
    for (const entry of entries) {
      if (entry.kind === Kind.hidden || this.ids.has(entry.id)) continue;
      this.ids.set(entry.id, entry);
      this.entries.push(entry);
    }
    this.entries.sort((a, b) => a.seq - b.seq);
  }

  /** @param {Entry[]} entries */
  #forget(entries) { for (const { id } of entries) this.ids.delete(id); }
}
