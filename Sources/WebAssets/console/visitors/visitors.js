// The page “Visitors”: who is on the site now, at any gateway. It reads the list every few seconds
// while it is shown, and changes only the rows that differ.

import { el, icon, reconcile } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { focusOn, targetOf } from '../shell/element.js';
import { statusOf } from '../shell/api.js';
import { locale, pieces, t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { VisitorDetail } from './detail.js';
import { Narrowing } from './narrowing.js';
import { nameOf, regionOf, since, sourceOf, visitOf } from './words.js';

const EVERY = 4000; // ms between two readings
const TYPING = 300; // ms after the last key before the search reads
const SECOND = 1000;
const BASE = '#/visitors';
const SOON = 120; // s of waiting, as in the inbox
const URGENT = 300;

/**
 * @param {import('../shell/pages.js').PageContext} context
 * @returns {import('../shell/pages.js').Page}
 */
export function visitors(context) {
  const page = new VisitorsPage(context);
  return { root: page.root, show: (path) => page.show(path), unsaved: () => page.unsaved };
}

class VisitorsPage {
  #context;
  #count = el('b.num', {}, '0');
  #search = el('input.input', { type: 'search', maxlength: 100,
    placeholder: t('Find a visitor or a page'), 'aria-label': t('Find a visitor or a page') });
  #list = /** @type {import('../../shared/dom.js').Drawing} */ (el('ul.vis-rows', {
    'aria-label': t('Visitors on the site') }));
  /** For the eye: each row says the same in words. */
  #head = el('div.vis-head', { 'aria-hidden': 'true', hidden: true },
    ...[t('Visitor'), t('Is looking at'), t('State'), t('On page'), t('Pages'), t('Came from'), t('Visit')].map(
      (words, at) => el(`span.vis-c${at}`, {}, words)));
  #empty = el('div.empty', { hidden: true });
  #trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  #more = el('p.meta.vis-more', { hidden: true });
  #heard = el('span.meta');
  #narrowing = new Narrowing(() => {
    this.#order = []; // the operator has asked for another one
    this.#read();
  });
  #detail;
  #chosen = '';
  /** @type {PresentVisitors?} */
  #known = null;
  /** The rows as they stand, so that they keep their places under the pointer and the focus. */
  #order = /** @type {string[]} */ ([]);
  /** The gateway's clock before ours, in ms. */
  #ahead = 0;
  #readAt = 0;
  #reading = 0;
  #ticking = 0;
  #typing = 0;
  #turn = 0;

  /** @param {import('../shell/pages.js').PageContext} context */
  constructor(context) {
    this.#context = context;
    this.#detail = new VisitorDetail(context, () => this.#ahead);
    this.#search.oninput = () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#read(), TYPING);
    };
    this.#list.addEventListener('keydown', (event) => this.#step(event));
    this.root = el('div.vis', {},
      el('main.vis-main', { 'aria-label': t('Visitors') },
        el('header.vis-bar', {},
          el('h1', { tabindex: -1 }, t('Visitors')),
          el('span.vis-count', { role: 'status' }, el('span.dot'),
            ...pieces('{} on your site now', this.#count)),
          el('span.grow'),
          this.#search,
          el('a.button', { href: '#/settings/proactive', 'aria-label': t('Proactive messages') },
            icon('bolt', 'small'), el('span.word', {}, t('Proactive messages')))),
        this.#narrowing.tabs,
        this.#narrowing.filters,
        this.#trouble,
        el('div.vis-scroll', {}, this.#head, this.#list, this.#more, this.#empty),
        el('footer.vis-foot', {}, el('span.dot'), this.#heard, el('span.grow'),
          el('span.meta', {}, t('Rows keep their places while you point at them.')))),
      this.#detail.root);
    this.root.addEventListener('keydown', (event) => {
      // in the search it empties the field
      if (event.key === 'Escape' && this.#chosen && targetOf(event) !== this.#search) {
        location.hash = BASE;
      }
    });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && this.#isShown) this.#read();
    });
  }

  get unsaved() { return this.#detail.unsaved; }

  get #isShown() { return this.root.isConnected && !this.root.closest('[hidden]'); }

  /** @param {string[]} path */
  show([id = '']) {
    const left = this.#chosen;
    this.#chosen = id;
    this.root.classList.toggle('chosen', !!id);
    this.#detail.show(id);
    this.#draw();
    this.#read();
    clearInterval(this.#ticking);
    this.#ticking = setInterval(() => this.#tick(), SECOND);
    // the focus returns to the row whose visitor was shown
    if (left && !id) focusOn(this.#list.querySelector(`a[href$="${CSS.escape(left)}"]`));
  }

  async #read() {
    clearTimeout(this.#reading);
    const turn = ++this.#turn;
    const words = this.#search.value.trim();
    try {
      const known = await this.#context.rest.get('live-chat/visitors', {
        q: words || null, ...this.#narrowing.query,
      });
      if (turn !== this.#turn) return;
      this.#known = known;
      this.#readAt = Date.now();
      this.#ahead = Date.parse(known.now) - Date.now();
      this.#trouble.hidden = true;
      this.#draw();
      const isWhole = !words && !this.#narrowing.isNarrow
        && known.total <= known.visitors.length;
      this.#detail.follow(known.visitors, isWhole);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#trouble.hidden = false;
      this.#trouble.replaceChildren(icon(statusOf(error) ? 'alert' : 'nowifi', 'small'),
        sentence(error));
    }
    if (this.#isShown && !document.hidden) {
      this.#reading = setTimeout(() => { if (this.#isShown) this.#read(); }, EVERY);
    }
  }

  #draw() {
    const known = this.#known;
    if (!known) return;
    const { visitors: all, total, on_site: count, enabled, is_full: isFull } = known;
    this.#count.textContent = count.toLocaleString(locale);
    this.#narrowing.draw(known);
    this.#narrowing.tabs.hidden = this.#narrowing.filters.hidden = !enabled;
    const me = this.#context.session().operator.id;
    reconcile(this.#list, this.#inOrder(all).map((one) => ({
      ...one, key: one.id, isChosen: one.id === this.#chosen, isMine: one.operator_id === me,
    })), (one) => row(one));
    this.#more.hidden = total <= all.length && !isFull;
    this.#more.textContent = [
      total > all.length && t('The first {1} of {2}. Narrow the list to find others.',
        all.length, total.toLocaleString(locale)),
      isFull && t('The site has more visitors than a gateway keeps. The ones missing were heard of the longest ago.'),
    ].filter(Boolean).join(' ');
    this.#empty.hidden = all.length > 0;
    this.#head.hidden = !all.length;
    if (!all.length) this.#empty.replaceChildren(...this.#nobody(known));
    this.#tick();
  }

  /**
   * Rows do not move while the pointer or the focus is among them: newcomers then stand below.
   * @param {PresentVisitor[]} all in the order of the gateway
   */
  #inOrder(all) {
    const isHeld = this.#list.matches(':hover, :focus-within');
    const places = new Map(this.#order.map((id, at) => [id, at]));
    const rows = isHeld
      ? [...all].sort((one, other) => (
        (places.get(one.id) ?? places.size) - (places.get(other.id) ?? places.size)
      ))
      : all;
    this.#order = rows.map(({ id }) => id);
    return rows;
  }

  /** @param {PresentVisitors} known */
  #nobody({ enabled, on_site: count }) {
    if (!enabled) {
      return [icon('globe'), el('b', {}, t('You do not see who is on your site yet')),
        el('p', {}, t('Turn it on, and add data-watch to the snippet. Visitors then appear here within seconds.')),
        el('a.button.primary', { href: '#/settings/visitors' }, t('Set up'))];
    }
    if (count) {
      return [icon('search'), el('b', {}, t('Nobody matches')),
        el('p', {}, t('Change the state, the filters or the search.')),
        ...this.#narrowing.isNarrow ? [el('button.button', { type: 'button',
          click: () => this.#narrowing.clear() }, t('Show everyone'))] : []];
    }
    return [icon('globe'), el('b', {}, t('Nobody is on your site now')),
      el('p', {}, t('Visitors appear here as soon as they open a page whose snippet has data-watch.')),
      el('a.button', { href: '#/settings/visitors' }, t('Get the snippet'))];
  }

  /** Renews the times, which are in no model: a row changes only with its visitor. */
  #tick() {
    if (!this.#isShown) return clearInterval(this.#ticking);
    for (const node of this.root.querySelectorAll('time[data-since]')) {
      const words = since(node.getAttribute('data-since') ?? '', this.#ahead);
      if (node.textContent !== words) node.textContent = words;
      const seconds = (Date.now() + this.#ahead
        - Date.parse(node.getAttribute('data-since') ?? '')) / SECOND;
      const wait = node.closest('.wait');
      const level = seconds >= URGENT ? 'urgent' : seconds >= SOON ? 'soon' : '';
      if (wait && wait.getAttribute('data-level') !== level) wait.setAttribute('data-level', level);
    }
    if (this.#readAt) {
      this.#heard.textContent = t('Read {} s ago',
        Math.round((Date.now() - this.#readAt) / SECOND));
    }
  }

  /**
   * Arrow keys move between the rows.
   * @param {KeyboardEvent} event
   */
  #step(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const links = [...this.#list.querySelectorAll('a')];
    const at = links.findIndex((link) => link === targetOf(event));
    links[at + step]?.focus();
    event.preventDefault();
  }
}

/** @param {PresentVisitor & {isChosen: boolean, isMine: boolean}} one */
function row(one) {
  const name = nameOf(one);
  return el('li', {}, el(
    'a.vis-row',
    { href: `${BASE}/${one.id}`, 'aria-current': one.isChosen && 'true' },
    face({ kind: 'visitor', id: one.id, name }),
    el('span.vis-who', {},
      el('b', { dir: 'auto' }, name),
      el('span.meta', {},
        one.country && el('span.cc', { 'aria-hidden': 'true' }, one.country),
        one.country && el('span.place', {}, regionOf(one.country)))),
    el('span.vis-on', {},
      el('span', { dir: 'auto' }, one.title || one.path),
      el('span.meta', { dir: 'ltr' }, one.path)),
    stateOf(one),
    el('span.vis-time.num', {},
      el('span', {}, el('time', { 'data-since': one.page_at }),
        el('span.unit', {}, ` ${t('on page')}`)),
      el('span.meta', {}, el('time', { 'data-since': one.began_at }), ` ${t('on site')}`)),
    el('span.vis-pages.num', {}, `${one.pages}`,
      el('span.unit', {}, ` ${one.pages === 1 ? t('page') : t('pages')}`)),
    el('span.vis-source', { dir: 'auto' }, sourceOf(one)),
    el('span.vis-visit', {}, visitOf(one)),
  ));
}

/** @param {PresentVisitor & {isMine: boolean}} one */
function stateOf(one) {
  const { state, session, status, operator_id: id, operator_name: name, waits_since: at } = one;
  if (status === 'waiting') {
    return el('span.vis-state', { 'data-state': 'waiting' },
      el('span.wait', {}, icon('clock'), `${t('Waits')} `, at && el('time', { 'data-since': at })));
  }
  if (session) {
    return el('span.vis-state', { 'data-state': 'chatting' },
      id ? face({ kind: 'operator', id, name }, '.avatar-sm') : el('span.dot'),
      el('span.truncate', {}, el('span.sr-only', {}, `${t('In a conversation with')} `),
        one.isMine ? t('You') : name || t('a bot')));
  }
  return el('span.vis-state', { 'data-state': state }, el('span.dot'),
    state === 'here' ? t('Browsing') : t('Away'));
}
