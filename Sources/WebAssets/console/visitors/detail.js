// One visitor of this moment: the trail, what is known, and the first words of a conversation.

import { el, icon } from '../../shared/dom.js';
import { sentence } from '../shell/rest.js';
import { facts } from '../visitor/facts.js';
import { nameOf, pathOf, since, sourceOf, visitOf } from './words.js';

const BODY_MAX = 2000; // characters

export class VisitorDetail {
  #context;
  #ahead;
  #id = '';
  /** What was last drawn. */
  #sign = '';
  #place = el('div.vis-facts');
  #trouble = el('p.error', { role: 'alert', hidden: true });
  #text = el('textarea.input', { rows: 3, maxlength: BODY_MAX, dir: 'auto',
    'aria-label': 'First message', placeholder: 'Can I help you?' });
  #send = el('button.button.primary', { type: 'submit' }, icon('chat', 'small'),
    'Start a conversation');
  #form;
  #open = el('a.button.primary', { hidden: true }, icon('chat', 'small'), 'Open the conversation');

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
      el('p.hint', {}, 'It appears beside the chat button with the page’s next heartbeat, within '
        + '10 seconds on a quiet site and 3 minutes on a busy one.'),
      this.#send);
    this.root = el('aside.vis-detail', { 'aria-label': 'Visitor', hidden: true,
      keydown: (event) => { if (event.key === 'Escape') location.hash = '#/visitors'; } },
      el('header', {},
        el('h2', { tabindex: -1, dir: 'auto' }),
        el('a.icon-button', { href: '#/visitors', 'aria-label': 'Close' }, icon('x'))),
      this.#open, this.#form, this.#place);
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
    this.#title('');
    this.#read();
  }

  /**
   * The list was read again.
   * @param {PresentVisitor[]} all
   * @param {boolean} isWhole whether everybody on the site is in it
   */
  follow(all, isWhole) {
    if (!this.#id) return;
    const one = all.find(({ id }) => id === this.#id);
    if (one && JSON.stringify(one) !== this.#sign) this.#read();
    if (!one && isWhole && this.#sign) this.#gone('This visitor has left the site.');
  }

  /** @param {string} words */
  #gone(words) {
    this.#sign = '';
    this.#form.hidden = true;
    this.#place.replaceChildren(el('p.hint', { role: 'status' }, words));
  }

  /** @param {string} words */
  #title(words) {
    const title = this.root.querySelector('h2');
    if (title) title.textContent = words;
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
    const { trail = [], session } = one;
    this.#title(nameOf(one));
    this.#open.hidden = !session;
    this.#open.href = `#${session}`;
    this.#form.hidden = !!session;
    const steps = [...trail].reverse().map(({ page, title, at }, number) => el(
      'li', number ? {} : { 'aria-current': 'page' },
      el('span', {}, el('b', { dir: 'auto' }, title || pathOf(page)),
        el('span.meta', { dir: 'ltr' }, pathOf(page))),
      el('time.meta.num', { datetime: at, 'data-since': at }, since(at, this.#ahead()))));
    /** @type {[string, string][]} */
    const pairs = [
      ['Came from', sourceOf(one)], ['Visit', visitOf(one)], ['Pages', String(one.pages)],
      ['Country', country(one.country)],
      ...facts({ locale: one.language, user_agent: one.user_agent }).map(
        ([name, value]) => /** @type {[string, string]} */ ([name, value])),
    ];
    this.#place.replaceChildren(
      el('h3', {}, 'Pages, the newest first'),
      el('ol.vis-trail', {}, ...steps),
      el('h3', {}, 'Visit'),
      el('dl.facts', {}, ...pairs.filter(([, value]) => value).flatMap(
        ([name, value]) => [el('dt', {}, name), el('dd', { dir: 'auto' }, value)])),
    );
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
    }
    this.#send.disabled = false;
  }
}

/** @param {string?} code */
function country(code) {
  if (!code) return '';
  try {
    return new Intl.DisplayNames(undefined, { type: 'region' }).of(code) ?? code;
  } catch { return code; }
}
