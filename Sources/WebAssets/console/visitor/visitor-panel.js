// The visitor column: identity, context of the visit, attributes, tags, and earlier conversations.
// Parts without data are left out.

import { el, icon } from '../../shared/dom.js';
import { face, time } from '../../shared/thread.js';
import { api, reasonOf, statusOf } from '../shell/api.js';
import { channelOf, nameOfChannel } from '../shell/channels.js';
import { focusOn } from '../shell/element.js';
import { locale, t } from '../shell/language.js';
import { rarePages } from '../shell/pages.js';
import { facts } from './facts.js';
import { faceOf, nameOf, pathOf } from '../inbox/inbox.js';
import { dayOf } from '../inbox/row.js';
import { stars } from './stars.js';
import { VisitorData } from './visitor-data.js';

const EARLIER = 6; // earlier conversations
const ATTRIBUTES_MAX = 32;
const WIDGET = 'widget'; // the channel of visitors of the site: nobody follows one
/** @type {Record<string, string>} */
const STATUSES = { waiting: t('Waiting'), active: t('Open'), closed: t('Closed') };

/** @type {Record<string, string>} */
const FOLLOWS = {
  follow: t('Followed'), unfollow: t('Unfollowed'), block: t('Blocked'), unblock: t('Unblocked'),
  refollow: t('Came back'),
};
const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });

/** @typedef {Partial<VisitorProfile>} Visitor a row has id and name only */

export class VisitorPanel {
  /**
   * The open conversation with all that the server knows about its visitor.
   * @type {ConversationDetail?}
   */
  detail = null;
  /** @type {ConversationRow[]} */
  earlier = [];
  /** @type {FriendEvent[]} */
  follows = [];
  #on;
  #id = '';
  #sign = '';
  /** The error of the last request, or ''. */
  #trouble = '';
  /** Whether the question before blocking is shown. */
  #isAsking = false;
  #data;

  /**
   * @param {{changed: () => void, tags: () => void, close: () => void, mayErase: () => boolean}} on
   */
  constructor(on) {
    this.#on = on;
    this.#data = new VisitorData({ ...on, erased: (visitor) => this.#erased(visitor) });
    this.root = el('aside.visitor', { 'aria-label': t('Visitor'), hidden: true, tabindex: -1 });
  }

  /**
   * Loads what is known about the visitor of a conversation.
   * @param {string} id '' for none
   */
  async show(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.detail = null;
    this.earlier = [];
    this.follows = [];
    this.#trouble = '';
    this.#isAsking = false;
    this.#data.reset();
    if (!id) return;
    try {
      const { conversation } = await api.one(id);
      if (id !== this.#id) return;
      this.detail = conversation;
      this.#on.changed();
      const visitor = conversation.visitor?.id;
      if (!visitor) return;
      const [page, { friend_events: follows }] = await Promise.all([
        api.list({ visitor, limit: EARLIER + 1 }), api.follows(visitor),
      ]);
      if (id !== this.#id) return;
      this.follows = follows;
      this.earlier = page.conversations.filter((row) => (
        row.id !== id && row.visitor?.id === visitor
      )).slice(0, EARLIER);
    } catch (error) {
      if (id !== this.#id) return;
      this.#trouble = statusOf(error) === 404 ? '' : t('Some visitor details could not be loaded.');
    }
    this.#on.changed();
  }

  /**
   * @param {ConversationRow?} row the open conversation
   * @param {number} head the number of its entries
   */
  render(row, head) {
    const { detail, earlier } = this;
    const minute = row && new Date().getMinutes(); // the local time changes with it
    const sign = JSON.stringify([
      row, head, detail, earlier, this.follows, this.#trouble, this.#isAsking, minute,
      this.#data.state,
    ]);
    if (this.#sign === sign) return;
    this.#sign = sign;
    this.root.hidden = !row;
    if (!row) return this.root.replaceChildren();
    // `opened_on`: the trail has begun
    /** @param {ConversationRow} row */
    const isOf = ({ context }) => `${context?.page} ${context?.opened_on}`;
    if (detail?.id === row.id && isOf(detail) !== isOf(row)) this.#follow(detail, row);
    const held = this.root.contains(document.activeElement)
      && document.activeElement?.getAttribute('data-key');
    /** @type {Visitor} */
    const visitor = { ...row.visitor, ...(detail?.id === row.id ? detail.visitor : {}) };
    this.root.replaceChildren(
      ...[
        this.#person(row, visitor),
        this.#context(row),
        this.#trail(),
        this.#attributes(row, visitor),
        this.#tags(row),
        this.#conversation(row, head),
        this.#past(visitor),
        this.#followed(),
        this.#trouble && el('section', {}, el('p.meta', { role: 'status' }, this.#trouble)),
        this.#merge(row, visitor),
        this.#block(visitor),
        'banned_at' in visitor && this.#data.section(visitor),
      ].filter(Boolean)
    );
    if (held) focusOn(this.root.querySelector(`[data-key="${held}"]`));
  }

  /**
   * @param {ConversationRow} row
   * @param {Visitor} visitor
   */
  #person(row, visitor) {
    const named = visitor.name && !visitor.name.startsWith('Visitor ');
    const trust = visitor.is_identified
      ? el('span.verified', {}, icon('shield', 'small'), t('Identity verified by your site'))
      : el('span.meta', {}, named ? t('Name not verified') : t('No name given'));
    return el(
      'section',
      {},
      el(
        'div.person',
        {},
        face(faceOf(row), '.avatar-lg'),
        el('h2.truncate', { dir: 'auto', title: nameOf(row) }, nameOf(row)),
        trust,
        el(
          'button.icon-button.shut',
          { type: 'button', 'aria-label': t('Close visitor details'), click: this.#on.close },
          icon('x'),
        ),
      ),
      visitor.email && el(
        'p.mail.truncate',
        {},
        el('a', { href: `mailto:${encodeURIComponent(visitor.email)}` }, visitor.email),
      ),
      visitor.banned_at && el('p.blocked', {}, icon('lock', 'small'), t('Blocked: cannot send messages')),
    );
  }

  /** @param {ConversationRow} row */
  #context(row) {
    const known = facts(row.context ?? {});
    return known.length > 0 && el('section', {}, el('h3', {}, t('Visit')), list(known));
  }

  #trail() {
    const steps = this.detail?.trail ?? [];
    /** @type {import('./facts.js').Fact[]} */
    const known = steps.map(({ page, title, at }) => [time(at), title || pathOf(page), page]);
    return known.length > 1
      && el('section', {}, el('h3', {}, t('Pages, the newest first')), list(known.reverse()));
  }

  /**
   * The visitor has opened another page. Without an answer the next one loads the trail.
   * @param {ConversationDetail} detail
   * @param {ConversationRow} row
   */
  #follow(detail, { id, context }) {
    detail.context = context;
    api.one(id).then(({ conversation }) => {
      if (this.detail !== detail) return;
      this.detail = conversation;
      this.#on.changed();
    }, () => {});
  }

  /**
   * @param {ConversationRow} row
   * @param {Visitor} visitor
   */
  #attributes(row, visitor) {
    const given = Object.entries(visitor.attributes ?? {}).slice(0, ATTRIBUTES_MAX);
    return given.length > 0 && el(
      'section',
      {},
      el('h3', {}, channelOf(row) ? t('From {}', channelOf(row)) : t('From your site')),
      list(given.map(([name, value]) => [name, String(value)])),
    );
  }

  /** @param {ConversationRow} row */
  #tags(row) {
    const tags = row.tags ?? this.detail?.tags;
    if (!tags) return null;
    return el(
      'section',
      {},
      el('h3', {}, t('Tags')),
      el(
        'div.tags',
        {},
        ...tags.map((tag) => el('span.chip', { dir: 'auto' }, tag)),
        el(
          'button.chip.add',
          { type: 'button', 'data-key': 'tag', click: this.#on.tags },
          icon('plus', 'small'),
          t('Tag'),
        ),
      ),
    );
  }

  /**
   * @param {ConversationRow} row
   * @param {number} head
   */
  #conversation(row, head) {
    return el(
      'section',
      {},
      el('h3', {}, t('Conversation')),
      list([
        [t('Started'), t('{1}, {2}', dayOf(row.created_at, 'long'), time(row.created_at))],
        [t('Status'), STATUSES[row.status] ?? row.status],
        [t('Operator'), row.assignee?.name ?? t('Unassigned')],
        [t('Entries'), String(head || row.last_seq)],
      ]),
    );
  }

  /** @param {Visitor} visitor */
  #past(visitor) {
    if (!this.earlier.length) return null;
    const all = Math.max(this.earlier.length, (visitor.conversations ?? 0) - 1);
    return el(
      'section',
      {},
      el('h3', {}, t('Earlier conversations'), el('span', {}, String(all))),
      el(
        'ol.past',
        {},
        ...this.earlier.map((row) => el(
          'li',
          {},
          el(
            'a.truncate',
            { href: `#${row.id}`, dir: 'auto' },
            row.title || row.last_message?.preview || t('No messages'),
          ),
          !!row.rating && stars(row.rating),
          el(
            'span.meta',
            {},
            [
              dayOf(row.created_at),
              row.assignee?.name,
              row.status !== 'closed' && t('open'),
            ].filter(Boolean).join(', '),
          ),
        )),
      ),
    );
  }

  #followed() {
    if (!this.follows.length) return null;
    return el(
      'section',
      {},
      el('h3', {}, t('Contact')),
      el('ol.follows', {}, ...this.follows.map(({ event, channel, created_at: at }) => {
        const isHere = channel === WIDGET;
        const words = isHere && event === 'follow' ? t('First contact') : FOLLOWS[event] ?? event;
        const when = moment.format(new Date(at));
        return el(
          'li',
          {},
          el('span', {}, words),
          el('time.meta', { datetime: at }, isHere ? when : `${when}, ${nameOfChannel(channel)}`),
        );
      })),
    );
  }

  /**
   * @param {ConversationRow} row
   * @param {Visitor} visitor
   */
  #merge(row, { id }) {
    if (!id || !this.detail?.visitor) return null;
    const open = async () => {
      let MergeDialog;
      try { ({ MergeDialog } = await rarePages()); } catch {
        this.#trouble = t('The server is not responding. Try again.');
        this.#on.changed();
        return;
      }
      new MergeDialog({ id, name: nameOf(row) }, {
        merged: () => { void this.#merged(); },
        // This column may have been drawn again, with another button.
        closed: () => focusOn(this.root.querySelector('[data-key="merge"]')),
      }).open();
    };
    return el('section', {}, el('button.button.quiet',
      { type: 'button', 'data-key': 'merge', 'aria-haspopup': 'dialog', click: () => void open() },
      t('Merge with…')));
  }

  /** The visitor of the conversation has more conversations now, perhaps another id and name. */
  async #merged() {
    const id = this.#id;
    this.#id = '';
    await this.show(id);
  }

  /**
   * Blocking asks for a confirmation: it ends the visitor's connection at once.
   * @param {Visitor} visitor
   */
  #block(visitor) {
    const { id } = visitor;
    if (!id || !('banned_at' in visitor)) return null;
    if (visitor.banned_at) {
      return el('section', {}, this.#button(t('Unblock'), '', () => this.#ban(id, false)));
    }
    if (!this.#isAsking) {
      return el('section', {}, this.#button(t('Block visitor'), '.quiet', () => this.#ask(true)));
    }
    return el(
      'section',
      {},
      el('p.ask', {}, visitor.name
        ? t('Block {}? They can no longer send messages, and do not see why.', visitor.name)
        : t('Block this visitor? They can no longer send messages, and do not see why.')),
      el(
        'div.ways',
        {},
        this.#button(t('Block'), '.danger', () => this.#ban(id, true)),
        this.#button(t('Cancel'), '.quiet', () => this.#ask(false)),
      ),
    );
  }

  /** @param {string} visitor whose conversations have lost their texts */
  #erased(visitor) {
    const { detail } = this;
    if (detail?.visitor?.id !== visitor) return;
    this.detail = { ...detail, visitor: null };
    this.earlier = [];
    this.follows = [];
    this.#trouble = t('The personal data are erased.');
    this.#on.changed();
  }

  /**
   * @param {string} words
   * @param {string} kind classes
   * @param {() => void} click
   */
  #button(words, kind, click) {
    return el(`button.button${kind}`, { type: 'button', 'data-key': 'block', click }, words);
  }

  /** @param {boolean} yes */
  #ask(yes) { this.#isAsking = yes; this.#on.changed(); }

  /**
   * @param {string} visitor
   * @param {boolean} yes
   */
  async #ban(visitor, yes) {
    const id = this.#id;
    this.#isAsking = false;
    this.#trouble = '';
    try {
      await api.block(visitor, yes);
      const { detail } = this;
      if (id !== this.#id || !detail?.visitor) return;
      const banned_at = yes ? new Date().toISOString() : null;
      this.detail = { ...detail, visitor: { ...detail.visitor, banned_at } };
    } catch (error) {
      this.#trouble = reasonOf(error, t('The server is not responding. Nothing was changed.'));
    }
    this.#on.changed();
  }
}

/** @param {import('./facts.js').Fact[]} known */
const list = (known) => el(
  'dl.facts',
  {},
  ...known.flatMap(([name, value, title]) => [
    el('dt.truncate', { dir: 'auto', title: name }, name),
    el('dd.truncate', { dir: 'auto', title: title || value }, value),
  ])
);
