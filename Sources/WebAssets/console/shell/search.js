// Search and commands in one field (Ctrl K). What is typed filters the commands and the
// conversations that are known, and asks the server for messages; a hit opens its conversation at
// the message.

import { el, icon } from '../../shared/dom.js';
import { api } from './api.js';
import { nameOf } from '../inbox/inbox.js';
import { ago } from '../inbox/row.js';

const WAIT = 180; // ms after the last key before the server is asked
const KNOWN = 5;
const HITS = 20;
const ROUNDS = 25; // answers in a row: each looks through a number of conversations only

/** @typedef {{kind: string, words: any[], hint: string, sub?: any, go: () => void}} Found */

export class Search {
  #on; #found = /** @type {Found[]} */ ([]); #at = 0; #timer = 0; #turn = 0; #said = '';
  #hits = /** @type {any[]} */ ([]); #cursor = /** @type {string?} */ (null);
  #field; #list; #status;

  /**
   * @param {{inbox: any, go: (id: string, seq?: number) => void, commands: () => [string, string,
   *   () => void][]}} on
   */
  constructor(on) {
    this.#on = on;
    this.#field = el('input.input', {
      type: 'search',
      id: 'search',
      role: 'combobox',
      placeholder: 'Search messages, visitors and commands',
      autocomplete: 'off',
      'aria-label': 'Search and commands',
      'aria-expanded': 'true',
      'aria-controls': 'found',
      'aria-autocomplete': 'list',
      maxlength: 200,
      input: () => this.#typed(),
      keydown: (event) => this.#key(event),
    });
    this.#list = el('ul', {
      id: 'found',
      role: 'listbox',
      'aria-label': 'Results',
      tabindex: -1,
      click: (event) => {
        const item = /** @type {HTMLElement} */ (event.target).closest('li[role="option"]');
        if (item) { this.#at = Number(/** @type {HTMLElement} */ (item).dataset.at); this.#choose(); }
      },
      scroll: () => {
        const { scrollTop, clientHeight, scrollHeight } = this.#list;
        if (scrollTop + clientHeight > scrollHeight - 80) this.#more();
      },
    });
    this.#status = el('p.meta', { role: 'status' });
    this.root = el(
      'dialog.pop.finder',
      {
        'aria-label': 'Search and commands',
        click: (event) => event.target === this.root && this.root.close(),
      },
      el('div.searching', {}, icon('search'), this.#field, el('kbd', {}, 'Esc')),
      this.#list,
      this.#status,
    );
  }

  open(text = '') {
    if (!this.root.open) this.root.showModal();
    if (text) this.#field.value = text;
    this.#field.select();
    this.#typed();
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.#at = 0;
    this.#hits = [];
    this.#cursor = null;
    const query = this.#field.value.trim();
    this.#said = '';
    if (query.length > 1) {
      this.#said = 'Searching messages…';
      this.#timer = setTimeout(() => this.#ask(query, null), WAIT);
    }
    this.#draw();
  }

  /** The server looks a way back with each answer; it is asked on until a screen is full. */
  async #ask(q, cursor) {
    const turn = ++this.#turn;
    const enough = this.#hits.length + HITS / 2;
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const answer = await api.search({ q, limit: HITS, cursor });
        if (turn !== this.#turn || !this.root.open) return;
        this.#hits.push(...answer.hits);
        cursor = answer.next_cursor;
        if (!cursor || this.#hits.length >= enough) break;
        this.#said = 'Searching older messages…';
        this.#draw();
      }
      this.#cursor = cursor;
      const { length } = this.#hits;
      const found = length ? `${length} ${length === 1 ? 'message' : 'messages'}` : 'No messages';
      this.#said = cursor
        ? `${found} found so far. `
        : length
        ? `${found} found`
        : 'No messages match these words.';
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#said = error.status === 404
        ? 'This server does not support message search.'
        : error.status
        ? error.message
        : 'The server is not responding. Edit your search to try again.';
    }
    this.#draw();
  }

  #more() {
    const cursor = this.#cursor;
    this.#cursor = null;
    if (cursor) this.#ask(this.#field.value.trim(), cursor);
  }

  #key(event) {
    if (event.isComposing) return;
    const { length } = this.#found;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && length) {
      this.#at = (this.#at + step + length) % length;
      this.#mark();
      if (this.#at >= length - 3) this.#more();
    } else if (event.key === 'Enter') this.#choose();
    else if (event.key === 'Escape') this.root.close();
    else return;
    event.preventDefault();
  }

  #choose() {
    const found = this.#found[this.#at];
    if (!found) return;
    this.root.close();
    found.go();
  }

  /** @returns {Found[]} */
  #all() {
    const query = this.#field.value.trim();
    const needle = query.toLowerCase();
    const commands = this.#on.commands().filter(
      ([words]) => !needle || words.toLowerCase().includes(needle)
    ).slice(0, needle ? 4 : 20).map(([words, key, go]) => (
      { kind: 'Commands', words: emphasise(words, needle), hint: key, go }
    ));
    const known = !needle ? [] : [...this.#on.inbox.rows.values()].filter((row) => (
      (needle.startsWith('/') ? nameOf(row) : row.visitor?.name ?? '').toLowerCase().includes(needle)
    )).slice(0, KNOWN).map((row) => ({
      kind: 'Visitors',
      words: emphasise(nameOf(row), needle),
      sub: row.last_message?.preview ?? '',
      hint: ago(row.updated_at),
      go: () => this.#on.go(row.id),
    }));
    const hits = this.#hits.map((hit) => ({
      kind: 'Messages',
      words: emphasise(snippet(hit.snippet), needle),
      sub: [
        hit.sender?.name || (hit.sender?.kind === 'visitor' ? 'Visitor' : ''),
        hit.conversation?.title,
        hit.conversation?.status === 'closed' && 'closed',
      ].filter(Boolean).join(' · '),
      hint: ago(hit.at),
      go: () => this.#on.go(hit.session, hit.seq),
    }));
    return [...known, ...hits, ...commands];
  }

  #draw() {
    this.#found = this.#all();
    this.#at = Math.min(this.#at, Math.max(0, this.#found.length - 1));
    let kind = '';
    const parts = [];
    for (const [index, found] of this.#found.entries()) {
      if (found.kind !== kind) {
        kind = found.kind;
        parts.push(el('li.section', { role: 'presentation' }, kind));
      }
      parts.push(el(
        'li.found',
        { role: 'option', id: `found-${index}`, 'data-at': index },
        el('span.truncate', { dir: 'auto' }, ...found.words),
        el('span.meta', {}, found.kind === 'Commands' && found.hint
          ? el('kbd', {}, found.hint)
          : found.hint),
        found.sub && el('span.meta.truncate.sub', { dir: 'auto' }, found.sub),
      ));
    }
    this.#list.replaceChildren(...parts);
    this.#status.replaceChildren(
      this.#said,
      this.#cursor
        ? el('button.link', { type: 'button', click: () => this.#more() }, 'Search older messages')
        : '',
    );
    this.#mark();
  }

  #mark() {
    for (const node of this.#list.querySelectorAll('[role="option"]')) {
      const on = Number(/** @type {HTMLElement} */ (node).dataset.at) === this.#at;
      node.setAttribute('aria-selected', String(on));
      if (on) node.scrollIntoView({ block: 'nearest' });
    }
    if (this.#found.length) this.#field.setAttribute('aria-activedescendant', `found-${this.#at}`);
    else this.#field.removeAttribute('aria-activedescendant');
  }
}

/** A snippet as plain text: how the server marks the words is its own affair. */
const snippet = (text = '') => String(text).replace(/<\/?(mark|b|em)>/g, '');

/** @param {string} text @param {string} needle in small letters @returns {any[]} */
function emphasise(text, needle) {
  const word = needle.split(/\s+/).find((it) => it && text.toLowerCase().includes(it));
  if (!word) return [text];
  const at = text.toLowerCase().indexOf(word);
  const end = at + word.length;
  return [text.slice(0, at), el('mark', {}, text.slice(at, end)), text.slice(end)];
}
