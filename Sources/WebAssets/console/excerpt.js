// A part of a log far from its end, around a hit of the search: it shows itself to the thread as a
// conversation does, grows in both directions, and says when it has reached what is live.

import { Kind } from '../shared/protocol.js';
import { api } from './api.js';

const PAGE = 50;

export class Excerpt {
  /** @type {import('../shared/conversation.js').Entry[]} */ entries = [];
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
    });
  }

  newer() {
    if (this.newest >= this.head) return;
    return this.#page({ after: this.newest, limit: PAGE }, (page) => {
      this.newest = Math.max(this.newest, ...page.messages.map(({ seq }) => seq));
      if (!page.more) this.newest = Math.max(this.newest, page.head);
    });
  }

  async #page(query, place) {
    if (this.loading) return;
    this.loading = true;
    try {
      const page = await api.messages(this.session, query);
      this.head = Math.max(this.head, page.head);
      place(page);
      for (const entry of page.messages) {
        if (entry.kind === Kind.hidden || this.ids.has(entry.id)) continue;
        this.ids.set(entry.id, entry);
        this.entries.push(entry);
      }
      this.entries.sort((a, b) => a.seq - b.seq);
      this.failed = '';
    } catch (error) {
      this.failed = error.status ? error.message : 'The server does not answer.';
    } finally { this.loading = false; }
    this.#changed();
  }
}
