// One visitor of this moment: the trail, what is known, and the first words of a conversation.

import { el, icon } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { dayOf } from '../inbox/row.js';
import { statusOf } from '../shell/api.js';
import { locale, pieces, t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { facts } from '../visitor/facts.js';
import { stars } from '../visitor/stars.js';
import { nameOf, pathOf, regionOf, since, sourceOf, span, visitOf } from './words.js';

const BODY_MAX = 2000; // characters
const EARLIER = 5;
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });

export class VisitorDetail {
  #context;
  #ahead;
  #id = '';
  /** What was last drawn. */
  #sign = '';
  #place = el('div.vis-facts');
  #past = el('section');
  #trouble = el('p.error', { role: 'alert', hidden: true });
  #text = el('textarea.input', { rows: 3, maxlength: BODY_MAX, dir: 'auto',
    'aria-label': t('First message'), placeholder: t('Can I help you?') });
  #send = el('button.button.primary', { type: 'submit' }, icon('chat', 'small'),
    t('Start a conversation'));
  #hint = el('p.hint', {}, t('It appears beside the chat button with the page’s next heartbeat, within 10 seconds on a quiet site and 3 minutes on a busy one.'));
  #form;
  #face = el('span.vis-face');
  #name = el('h2', { tabindex: -1, dir: 'auto' });
  #now = el('p.meta', { dir: 'auto' });
  #open = el('a.button.primary', { hidden: true }, icon('chat', 'small'), t('Open the conversation'));

  /**
   * @param {import('../shell/pages.js').PageContext} context
   * @param {() => number} ahead how far the gateway's clock is before ours, in ms
   */
  constructor(context, ahead) {
    this.#context = context;
    this.#ahead = ahead;
    this.#text.oninput = () => context.changed();
    this.#form = el('form.vis-start', { submit: (event) => { event.preventDefault(); this.#start(); } },
      this.#text, this.#trouble,
      this.#hint, this.#send);
    this.root = el('aside.vis-detail', { 'aria-label': t('Visitor'), hidden: true },
      el('header', {},
        this.#face,
        el('div', {}, this.#name, this.#now),
        el('a.icon-button', { href: '#/visitors', 'aria-label': t('Close|a panel') }, icon('x'))),
      el('div.vis-act', {}, this.#open, this.#form), this.#place);
  }

  /** A message that is not sent yet. */
  get unsaved() { return this.#id && this.#text.value.trim() ? 1 : 0; }

  /** @param {string} id of a browser, or '' */
  show(id) {
    const isNew = id !== this.#id;
    this.#id = id;
    this.root.hidden = !id;
    if (!id || !isNew) return;
    this.#sign = '';
    this.#text.value = '';
    this.#trouble.hidden = true;
    this.#place.replaceChildren();
    this.#face.replaceChildren();
    this.#now.replaceChildren();
    this.#name.textContent = '';
    this.#form.hidden = this.#open.hidden = true;
    this.#read();
    // on a narrow screen the visitor covers the list
    if (matchMedia('(max-width: 1179px)').matches) this.#name.focus();
  }

  /**
   * The list was read again.
   * @param {PresentVisitor[]} all
   * @param {boolean} isWhole whether everybody on the site is in it
   */
  follow(all, isWhole) {
    if (!this.#id) return;
    const one = all.find(({ id }) => id === this.#id);
    if (one) {
      if (JSON.stringify(one) !== this.#sign) this.#read();
      return;
    }
    if (!this.#sign) return; // has left, or is not read yet
    if (isWhole) this.#gone(t('This visitor has left the site.')); else this.#read();
  }

  /** @param {string} words */
  #gone(words) {
    this.#sign = '';
    this.#form.hidden = true;
    this.#place.replaceChildren(el('p.hint', { role: 'status' }, words));
  }

  async #read() {
    const id = this.#id;
    try {
      const { visitor } = await this.#context.rest.get(`live-chat/visitors/${id}`);
      if (id !== this.#id) return;
      this.#sign = JSON.stringify({ ...visitor, trail: undefined });
      this.#draw(visitor);
    } catch (error) {
      if (id !== this.#id) return;
      this.#gone(sentence(error));
    }
  }

  /** @param {PresentVisitor} one */
  #draw(one) {
    const { trail = [], session, page_at: at } = one;
    const name = nameOf(one);
    this.#face.replaceChildren(face({ kind: 'visitor', id: one.id, name }, '.avatar-lg'));
    this.#name.textContent = name;
    this.#now.replaceChildren(...pieces('On {1} for {2}',
      el('span', { dir: 'ltr' }, one.path), this.#since(at)));
    this.#open.hidden = !session;
    this.#open.href = `#${session}`;
    this.#taken(one);
    const hidden = one.pages - trail.length;
    /** @type {[string, string][]} */
    const pairs = [
      [t('Came from'), sourceOf(one)], [t('Visit'), visitOf(one)], [t('Country'), regionOf(one.country)],
      ...facts({ locale: one.language, user_agent: one.user_agent }).map(
        ([title, value]) => /** @type {[string, string]} */ ([title, value])),
    ];
    this.#place.replaceChildren(
      el('section', {},
        el('h3', {}, t('Pages, the newest first'), el('span.num', {},
          ...pieces('{1} in {2}', `${one.pages}`, this.#since(one.began_at)))),
        el('ol.vis-trail', {}, ...trail.map((step, number) => (
          this.#step(step, trail[number + 1]?.at)
        )).reverse(), hidden > 0 && el('li.meta', {}, t('{} earlier', hidden)))),
      el('section', {},
        el('h3', {}, t('About this visitor')),
        el('dl.facts', {}, ...pairs.filter(([, value]) => value).flatMap(
          ([title, value]) => [el('dt', {}, title), el('dd', { dir: 'auto' }, value)]))),
      this.#past,
    );
    this.#readPast(one.visitor_id, session);
  }

  /**
   * What was written before a colleague was first stays to be read and copied.
   * @param {PresentVisitor} one
   */
  #taken({ session, operator_name: name }) {
    const isDraft = !!this.unsaved;
    this.#form.hidden = !!session && !isDraft;
    this.#text.readOnly = this.#send.hidden = this.#hint.hidden = !!session;
    if (!session || !isDraft) return;
    this.#trouble.hidden = false;
    this.#trouble.textContent = t('{} was first. Your message was not sent.',
      name || t('Somebody'));
  }

  /**
   * A page of the trail, with its time and how long the visitor looked at it.
   * @param {{page: string, title: string, at: string}} step
   * @param {string=} until the next page; none: the visitor looks at it now
   */
  #step({ page, title, at }, until) {
    return el('li', { 'aria-current': !until && 'page' },
      el('span', {}, el('b', { dir: 'auto' }, title || pathOf(page)),
        el('span.meta', { dir: 'ltr' }, pathOf(page))),
      el('span.vis-when.num', {}, el('time', { datetime: at }, clock.format(new Date(at))),
        el('span.meta', {}, ...until
          ? [span(Date.parse(until) - Date.parse(at))] : pieces('{} so far', this.#since(at)))));
  }

  /**
   * The time since then, which the page renews.
   * @param {string} at
   */
  #since(at) {
    return el('time.num', { datetime: at, 'data-since': at }, since(at, this.#ahead()));
  }

  /**
   * The visitor's earlier conversations.
   * @param {string?} visitor
   * @param {string?} open the conversation that the button opens
   */
  async #readPast(visitor, open) {
    if (!visitor) return this.#past.replaceChildren();
    const id = this.#id;
    try {
      const { conversations: all } = await this.#context.rest.get('live-chat/conversations', {
        visitor, status: 'all', limit: EARLIER + 1,
      });
      const earlier = all.filter((row) => row.id !== open).slice(0, EARLIER);
      if (id !== this.#id) return;
      this.#past.replaceChildren(...earlier.length ? [el('h3', {}, t('Earlier conversations')),
        el('ol.past', {}, ...earlier.map((row) => el('li', {},
          el('a.truncate', { href: `#${row.id}`, dir: 'auto' },
            row.title || row.last_message?.preview || t('No messages')),
          !!row.rating && stars(row.rating),
          el('span.meta', {}, [dayOf(row.created_at), row.assignee?.name].filter(Boolean).join(', '))
        )))] : []);
    } catch (error) {
      if (id === this.#id) this.#past.replaceChildren(el('p.hint', {}, sentence(error)));
    }
  }

  async #start() {
    const id = this.#id;
    const body = this.#text.value.trim();
    if (!body) return this.#text.focus();
    this.#send.disabled = true;
    try {
      const { conversation } = await this.#context.rest.post(
        `live-chat/visitors/${id}/conversation`, { body });
      this.#text.value = '';
      this.#context.changed();
      location.hash = `#${conversation.id}`;
    } catch (error) {
      this.#trouble.hidden = false;
      this.#trouble.textContent = sentence(error);
      if (statusOf(error) === 409) this.#read();
    }
    this.#send.disabled = false;
  }
}
