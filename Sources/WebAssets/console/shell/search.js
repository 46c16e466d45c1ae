// Search and commands in one field (Ctrl K). The text filters commands and known conversations, and
// the server searches messages for it. A hit opens its conversation at the message.

import { el, icon } from '../../shared/dom.js';
import { api, reasonOf, statusOf } from './api.js';
import { targetOf } from './element.js';
import { nameOf, pathOf } from '../inbox/inbox.js';
import { ago } from '../inbox/row.js';
import { t } from './language.js';

const WAIT = 180; // ms after the last key until the request
const CONVERSATIONS_MAX = 5;
const HITS = 20; // of one request
const ROUNDS_MAX = 25; // requests for one screen; each searches some conversations only

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {{kind: string, words: Child[], hint: string, sub?: string, go: () => void}} Found */

export class Search {
  #on;
  /** @type {Found[]} */
  #found = [];
  /** The index of the selected result. */
  #at = 0;
  #timer = 0;
  /** Counts the searches, so that a late answer is dropped. */
  #turn = 0;
  #said = '';
  /** @type {Hit[]} */
  #hits = [];
  /**
   * Conversations whose title matches.
   * @type {ConversationRow[]}
   */
  #titled = [];
  /** @type {string?} */
  #cursor = null;
  #field;
  #list;
  #status;

  /**
   * @param {{inbox: import('../inbox/inbox.js').Inbox, go: (id: string, seq?: number) => void,
   *   commands: () => [string, string, () => void][]}} on
   */
  constructor(on) {
    this.#on = on;
    this.#field = el('input.input', {
      type: 'search',
      id: 'search',
      role: 'combobox',
      placeholder: t('Search messages, visitors and commands'),
      autocomplete: 'off',
      'aria-label': t('Search and commands'),
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
      'aria-label': t('Results'),
      tabindex: -1,
      click: (event) => {
        const item = targetOf(event)?.closest('li');
        if (item?.dataset.at) { this.#at = Number(item.dataset.at); this.#choose(); }
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
        'aria-label': t('Search and commands'),
        click: (event) => { if (event.target === this.root) this.root.close(); },
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
    this.#titled = [];
    this.#cursor = null;
    const query = this.#field.value.trim();
    this.#said = '';
    if (query.length > 1) {
      this.#said = t('Searching messages…');
      this.#timer = setTimeout(() => this.#ask(query, null), WAIT);
    }
    this.#draw();
  }

  /**
   * Each answer covers some conversations only; requests go on until a screen is full.
   * @param {string} q
   * @param {string?} cursor
   */
  async #ask(q, cursor) {
    const turn = ++this.#turn;
    const enough = this.#hits.length + HITS / 2;
    if (!cursor) this.#askTitles(q, turn);
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const answer = await api.search({ q, limit: HITS, cursor });
        if (turn !== this.#turn || !this.root.open) return;
        this.#hits.push(...answer.hits);
        cursor = answer.next_cursor;
        if (!cursor || this.#hits.length >= enough) break;
        this.#said = t('Searching older messages…');
        this.#draw();
      }
      this.#cursor = cursor;
      const { length } = this.#hits;
      this.#said = cursor
        ? `${soFar(length)} `
        : length
        ? length === 1 ? t('1 message found') : t('{} messages found', length)
        : t('No messages match these words. Try fewer words, or a visitor’s name.');
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#said = statusOf(error) === 404
        ? t('This server does not support message search.')
        : reasonOf(error, t('The server is not responding. Edit your search to try again.'));
    }
    this.#draw();
  }

  /**
   * The messages come without it if it fails.
   * @param {string} q
   * @param {number} turn
   */
  async #askTitles(q, turn) {
    const page = await api.list({ q, status: 'all', limit: HITS }).catch(() => null);
    if (turn !== this.#turn || !page) return;
    this.#titled = page.conversations;
    this.#draw();
  }

  #more() {
    const cursor = this.#cursor;
    this.#cursor = null;
    if (cursor) this.#ask(this.#field.value.trim(), cursor);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return;
    const { length } = this.#found;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
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
      { kind: t('Commands'), words: emphasise(words, needle), hint: key, go }
    ));
    const known = !needle ? [] : [...this.#on.inbox.rows.values()].filter((row) => (
      (needle.startsWith('/') ? pathOf(row.context?.page) : nameOf(row)).toLowerCase().includes(needle)
    )).slice(0, CONVERSATIONS_MAX).map((row) => ({
      kind: t('Visitors'),
      words: emphasise(nameOf(row), needle),
      sub: row.last_message?.preview ?? '',
      hint: ago(row.updated_at),
      go: () => this.#on.go(row.id),
    }));
    const rows = [...this.#on.inbox.rows.values(), ...this.#titled];
    const unique = [...new Map(rows.map((row) => [row.id, row])).values()];
    const titled = !needle ? [] : unique.filter(
      ({ title }) => title?.toLowerCase().includes(needle)
    ).slice(0, CONVERSATIONS_MAX).map((row) => ({
      kind: t('Conversations'),
      words: emphasise(row.title ?? '', needle),
      sub: [nameOf(row), row.status === 'closed' && t('closed')].filter(Boolean).join(' · '),
      hint: ago(row.updated_at),
      go: () => this.#on.go(row.id),
    }));
    const hits = this.#hits.map((hit) => ({
      kind: t('Messages'),
      words: emphasise(snippet(hit.snippet), needle),
      sub: [
        hit.sender?.name || (hit.sender?.kind === 'visitor' ? t('Visitor') : ''),
        hit.conversation?.title,
        hit.conversation?.status === 'closed' && t('closed'),
      ].filter(Boolean).join(' · '),
      hint: ago(hit.at),
      go: () => this.#on.go(hit.session, hit.seq),
    }));
    return [...known, ...titled, ...hits, ...commands];
  }

  #draw() {
    this.#found = this.#all();
    this.#at = Math.min(this.#at, Math.max(0, this.#found.length - 1));
    let kind = '';
    /** @type {HTMLElement[]} */
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
        el('span.meta', {}, found.kind === t('Commands') && found.hint
          ? el('kbd', {}, found.hint)
          : found.hint),
        found.sub && el('span.meta.truncate.sub', { dir: 'auto' }, found.sub),
      ));
    }
    this.#list.replaceChildren(...parts);
    this.#status.replaceChildren(
      this.#said,
      this.#cursor
        ? el('button.link', { type: 'button', click: () => this.#more() }, t('Search older messages'))
        : '',
    );
    this.#mark();
  }

  #mark() {
    for (const node of this.#list.querySelectorAll('li')) {
      if (!node.dataset.at) continue; // a heading
      const isSelected = Number(node.dataset.at) === this.#at;
      node.setAttribute('aria-selected', String(isSelected));
      if (isSelected) node.scrollIntoView({ block: 'nearest' });
    }
    if (this.#found.length) this.#field.setAttribute('aria-activedescendant', `found-${this.#at}`);
    else this.#field.removeAttribute('aria-activedescendant');
  }
}

/** @param {number} found messages */
const soFar = (found) => (!found
  ? t('No messages found so far.')
  : found === 1 ? t('1 message found so far.') : t('{} messages found so far.', found));

/** A snippet without the server's markup of the words. */
const snippet = (text = '') => String(text).replace(/<\/?(mark|b|em)>/g, '');

/**
 * The text with the first word of `needle` that it contains marked.
 * @param {string} text
 * @param {string} needle in lower case
 * @returns {Child[]}
 */
function emphasise(text, needle) {
  const word = needle.split(/\s+/).find((it) => it && text.toLowerCase().includes(it));
  if (!word) return [text];
  const at = text.toLowerCase().indexOf(word);
  const end = at + word.length;
  return [text.slice(0, at), el('mark', {}, text.slice(at, end)), text.slice(end)];
}
