// The visitor column: who it is, what the page told, tags, and earlier conversations. A part that
// the server does not give is left out.

import { el, icon } from '../../shared/dom.js';
import { face, time } from '../../shared/thread.js';
import { api } from '../shell/api.js';
import { facts } from './facts.js';
import { faceOf, nameOf } from '../inbox/inbox.js';
import { stars } from './stars.js';

const EARLIER = 6;
const dayMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long' });

export class VisitorPanel {
  /** The open conversation with all that the server says about it. */
  detail = /** @type {any} */ (null);
  earlier = /** @type {any[]} */ ([]);
  #on; #id = ''; #sign = ''; #told = ''; #asking = false;

  /** @param {{changed: () => void, tags: () => void, shut: () => void}} on */
  constructor(on) {
    this.#on = on;
    this.root = el('aside.visitor', { 'aria-label': 'Visitor', hidden: true, tabindex: -1 });
  }

  /** Another conversation is open: what is known of its visitor is asked for. */
  async show(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.detail = null;
    this.earlier = [];
    this.#told = '';
    this.#asking = false;
    if (!id) return;
    try {
      const { conversation } = await api.one(id);
      if (id !== this.#id) return;
      this.detail = conversation;
      this.#on.changed();
      if (!conversation.visitor?.id) return;
      const page = await api.list({ visitor: conversation.visitor.id, limit: EARLIER + 1 });
      if (id !== this.#id) return;
      this.earlier = page.conversations.filter((row) => (
        row.id !== id && row.visitor?.id === conversation.visitor.id
      )).slice(0, EARLIER);
    } catch (error) {
      if (id !== this.#id) return;
      this.#told = error.status === 404 ? '' : 'Some visitor details could not be loaded.';
    }
    this.#on.changed();
  }

  /**
   * @param {any} row the open conversation as the list has it
   * @param {number} head entries so far
   */
  render(row, head) {
    const { detail, earlier } = this;
    const minute = row && new Date().getMinutes(); // for the local time
    const sign = JSON.stringify([
      row, head, detail?.visitor, earlier, this.#told, this.#asking, minute,
    ]);
    if (this.#sign === sign) return;
    this.#sign = sign;
    this.root.hidden = !row;
    if (!row) return this.root.replaceChildren();
    const held = this.root.contains(document.activeElement)
      && document.activeElement?.getAttribute('data-key');
    const visitor = { ...row.visitor, ...(detail?.id === row.id ? detail.visitor : {}) };
    this.root.replaceChildren(
      ...[
        this.#person(row, visitor),
        this.#context(row),
        this.#attributes(visitor),
        this.#tags(row),
        this.#conversation(row, head),
        this.#past(visitor),
        this.#told && el('section', {}, el('p.meta', { role: 'status' }, this.#told)),
        this.#block(visitor),
      ].filter(Boolean)
    );
    const again = held && this.root.querySelector(`[data-key="${held}"]`);
    if (again) /** @type {HTMLElement} */ (again).focus();
  }

  #person(row, visitor) {
    const named = visitor.name && !visitor.name.startsWith('Visitor ');
    const trust = visitor.external_id
      ? el('span.verified', {}, icon('shield', 'small'), 'Identity verified by your site')
      : el('span.meta', {}, named ? 'Name not verified' : 'No name given');
    return el(
      'section',
      {},
      el(
        'div.person',
        {},
        face(faceOf(row), '.avatar-lg'),
        el('b.truncate', { dir: 'auto', title: nameOf(row) }, nameOf(row)),
        trust,
        el(
          'button.icon-button.shut',
          { type: 'button', 'aria-label': 'Close visitor details', click: this.#on.shut },
          icon('x'),
        ),
      ),
      visitor.email && el(
        'p.mail.truncate',
        {},
        el('a', { href: `mailto:${encodeURIComponent(visitor.email)}` }, visitor.email),
      ),
      visitor.banned_at && el('p.blocked', {}, icon('lock', 'small'), 'Blocked: cannot send messages'),
    );
  }

  #context(row) {
    const known = facts(row.context ?? {});
    return known.length && el('section', {}, el('h3', {}, 'Visit'), list(known));
  }

  #attributes(visitor) {
    const given = Object.entries(visitor.attributes ?? {}).slice(0, 32);
    return given.length > 0 && el(
      'section',
      {},
      el('h3', {}, 'From your site'),
      list(given.map(([name, value]) => [name, String(value)])),
    );
  }

  #tags(row) {
    const tags = row.tags ?? this.detail?.tags;
    if (!tags) return null;
    return el(
      'section',
      {},
      el('h3', {}, 'Tags'),
      el(
        'div.tags',
        {},
        ...tags.map((tag) => el('span.chip', { dir: 'auto' }, tag)),
        el(
          'button.chip.add',
          { type: 'button', 'data-key': 'tag', click: this.#on.tags },
          icon('plus', 'small'),
          'Tag',
        ),
      ),
    );
  }

  #conversation(row, head) {
    return el(
      'section',
      {},
      el('h3', {}, 'Conversation'),
      list([
        ['Started', `${day.format(new Date(row.created_at))}, ${time(row.created_at)}`],
        [
          'Status',
          { waiting: 'Waiting', active: 'Open', closed: 'Closed' }[row.status] ?? row.status,
        ],
        ['Operator', row.assignee?.name ?? 'Unassigned'],
        ['Entries', String(head || row.last_seq)],
      ]),
    );
  }

  #past(visitor) {
    if (!this.earlier.length) return null;
    const all = Math.max(this.earlier.length, (visitor.conversations ?? 0) - 1);
    return el(
      'section',
      {},
      el('h3', {}, 'Earlier conversations', el('span', {}, String(all))),
      el(
        'ol.past',
        {},
        ...this.earlier.map((row) => el(
          'li',
          {},
          el(
            'a.truncate',
            { href: `#${row.id}`, dir: 'auto' },
            row.title || row.last_message?.preview || 'No messages',
          ),
          row.rating && stars(row.rating),
          el(
            'span.meta',
            {},
            [
              dayMonth.format(new Date(row.created_at)),
              row.assignee?.name,
              row.status !== 'closed' && 'open',
            ].filter(Boolean).join(', '),
          ),
        )),
      ),
    );
  }

  /** Blocking is asked for twice: it ends the visitor's connection at once. */
  #block(visitor) {
    if (!visitor.id || !('banned_at' in visitor)) return null;
    const name = visitor.name || 'this visitor';
    if (visitor.banned_at) {
      return el('section', {}, this.#button('Unblock', '', () => this.#ban(visitor, false)));
    }
    if (!this.#asking) {
      return el('section', {}, this.#button('Block visitor', '.quiet', () => this.#ask(true)));
    }
    return el(
      'section',
      {},
      el('p.ask', {}, `Block ${name}? They can no longer send messages, and do not see why.`),
      el(
        'div.ways',
        {},
        this.#button('Block', '.danger', () => this.#ban(visitor, true)),
        this.#button('Cancel', '.quiet', () => this.#ask(false)),
      ),
    );
  }

  #button(words, kind, click) {
    return el(`button.button${kind}`, { type: 'button', 'data-key': 'block', click }, words);
  }

  #ask(yes) { this.#asking = yes; this.#on.changed(); }

  async #ban(visitor, yes) {
    const id = this.#id;
    this.#asking = false;
    this.#told = '';
    try {
      await api.block(visitor.id, yes);
      if (id !== this.#id || !this.detail) return;
      this.detail = {
        ...this.detail,
        visitor: { ...this.detail.visitor, banned_at: yes ? new Date().toISOString() : null },
      };
    } catch (error) {
      this.#told = error.status
        ? error.message
        : 'The server is not responding. Nothing was changed.';
    }
    this.#on.changed();
  }
}

const list = (known) => el(
  'dl.facts',
  {},
  ...known.flatMap(([name, value, title]) => [
    el('dt.truncate', { dir: 'auto', title: name }, name),
    el('dd.truncate', { dir: 'auto', title: title || value }, value),
  ])
);
