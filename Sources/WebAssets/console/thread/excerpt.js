// A part of a log far from its end, around a hit of the search or where somebody has read to: it
// shows itself to the thread as a conversation does, moves in both directions, and says when it has
// reached what is live.
// Invariant: no more than `WINDOW` entries are held, however long the log is; what grows at one end
// leaves at the other.

import { Kind } from '../../shared/protocol.js';
import { api } from '../shell/api.js';

const PAGE = 50;
export const WINDOW = 300;

/**
 * The end of a log that somebody follows: what has grown out of the window can be read again.
 * @param {import('../../shared/conversation.js').Conversation} talk
 */
export function trim(talk) {
  const { entries, ids } = talk;
  if (entries.length <= 2 * WINDOW) return;
  for (const { id } of entries.splice(0, entries.length - WINDOW)) ids.delete(id);
  talk.oldest = entries[0].seq;
}

export class Excerpt {
  /** @type {Entry[]} */ entries = [];
  /** @type {Map<string, any>} */ ids = new Map();
  oldest = 0; newest = 0; head = 0; live = false; ready = true; loading = false; failed = '';
  typing = { others: new Map() };
  #changed;

  /**
   * @param {string} session @param {number} seq the hit
   * @param {{reached: (kind: string) => any}} marks of the live conversation
   * @param {() => void} changed
   */
  constructor(session, seq, marks, changed) {
    this.session = session;
    this.seq = seq;
    this.marks = marks;
    this.#changed = changed;
  }

  /** Goes on where a conversation has been read to, with its oldest entries. */
  static from(talk, changed) {
    const part = new Excerpt(talk.session, talk.oldest, talk.marks, changed);
    part.#take(talk.entries.slice(0, WINDOW));
    part.oldest = talk.oldest;
    part.newest = part.entries.at(-1)?.seq ?? talk.oldest;
    part.head = talk.head;
    return part;
  }

  /** The entry that was looked for. @returns {string} its id, '' if it is not there */
  get hit() { return this.entries.find(({ seq }) => seq >= this.seq)?.id ?? ''; }

  async load() {
    await this.#page({ around: this.seq, limit: PAGE }, (page) => {
      this.newest = Math.max(...page.messages.map(({ seq }) => seq), this.seq);
      this.oldest = Math.min(...page.messages.map(({ seq }) => seq), this.seq);
    });
    return !this.failed;
  }

  older() {
    if (this.oldest <= 1) return;
    return this.#page({ before: this.oldest, limit: PAGE }, (page) => {
      this.oldest = Math.min(this.oldest, ...page.messages.map(({ seq }) => seq));
      if (!page.more) this.oldest = 1;
      const gone = this.entries.splice(WINDOW);
      if (gone.length) this.newest = gone[0].seq - 1;
      this.#forget(gone);
    });
  }

  newer() {
    if (this.newest >= this.head) return;
    return this.#page({ after: this.newest, limit: PAGE }, (page) => {
      this.newest = Math.max(this.newest, ...page.messages.map(({ seq }) => seq));
      if (!page.more) this.newest = Math.max(this.newest, page.head);
      const gone = this.entries.splice(0, Math.max(0, this.entries.length - WINDOW));
      if (gone.length) this.oldest = gone[gone.length - 1].seq + 1;
      this.#forget(gone);
    });
  }

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
      this.failed = error.status ? error.message : 'The server is not responding.';
    } finally { this.loading = false; }
    this.#changed();
  }

  #take(entries) {
    for (const entry of entries) {
      if (entry.kind === Kind.hidden || this.ids.has(entry.id)) continue;
      this.ids.set(entry.id, entry);
      this.entries.push(entry);
    }
    this.entries.sort((a, b) => a.seq - b.seq);
  }

  #forget(entries) { for (const { id } of entries) this.ids.delete(id); }
}
