// The page “Visitors”: who is on the site now, at any gateway. It reads the list every few seconds
// while it is shown, and changes only the rows that differ.

import { el, icon, reconcile } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { targetOf } from '../shell/element.js';
import { statusOf } from '../shell/api.js';
import { sentence } from '../shell/rest.js';
import { VisitorDetail } from './detail.js';
import { nameOf, pathOf, since, sourceOf, stateOf, visitOf } from './words.js';

const EVERY = 4000; // ms between two readings
const SECOND = 1000;
const BASE = '#/visitors';
/** @type {[value: string, words: string, isIn: (one: PresentVisitor) => boolean][]} */
const STATES = [
  ['all', 'Everyone', () => true],
  ['browsing', 'Browsing', ({ state, session }) => state === 'here' && !session],
  ['chatting', 'In a conversation', ({ session }) => !!session],
  ['away', 'Away', ({ state }) => state === 'away'],
];

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
    placeholder: 'Find a visitor or a page', 'aria-label': 'Find a visitor or a page' });
  #list = /** @type {import('../../shared/dom.js').Drawing} */ (el('ul.vis-rows', {
    'aria-label': 'Visitors on the site' }));
  /** For the eye: each row says the same in words. */
  #head = el('div.vis-head', { 'aria-hidden': 'true', hidden: true },
    el('span', {}, 'Visitor'), el('span', {}, 'Looking at'), el('span', {}, 'State'),
    el('span.vis-time', {}, 'On page'), el('span.vis-source', {}, 'Came from'));
  #empty = el('div.empty', { hidden: true });
  #trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  #more = el('p.meta.vis-more', { hidden: true });
  #tabs;
  #state = 'all';
  #chosen = '';
  /** @type {PresentVisitors?} */
  #known = null;
  /** The gateway's clock before ours, in ms. */
  #ahead = 0;
  #reading = 0;
  #ticking = 0;
  #turn = 0;

  /** @param {import('../shell/pages.js').PageContext} context */
  constructor(context) {
    this.#context = context;
    this.#detail = new VisitorDetail(context, () => this.#ahead);
    this.#tabs = STATES.map(([value]) => el('button', { type: 'button', 'aria-pressed': 'false',
      click: () => { this.#state = value; this.#draw(); } }));
    this.#search.oninput = () => this.#read();
    this.#list.addEventListener('keydown', (event) => this.#step(event));
    this.root = el('div.vis', {},
      el('main.vis-main', { 'aria-label': 'Visitors' },
        el('header.vis-bar', {},
          el('h1', { tabindex: -1 }, 'Visitors'),
          el('span.vis-count', { role: 'status' }, el('span.dot'), this.#count,
            ' on your site now'),
          el('span.grow'),
          this.#search,
          el('a.button', { href: '#/settings/proactive' }, icon('bolt', 'small'),
            'Proactive messages')),
        el('div.segments.vis-tabs', { role: 'group', 'aria-label': 'State' }, ...this.#tabs),
        this.#trouble,
        el('div.vis-scroll', {}, this.#head, this.#list, this.#more, this.#empty)),
      this.#detail.root);
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && this.#isShown) this.#read();
    });
  }

  #detail;

  get unsaved() { return this.#detail.unsaved; }

  get #isShown() { return this.root.isConnected && !this.root.closest('[hidden]'); }

  /** @param {string[]} path */
  show([id = '']) {
    this.#chosen = id;
    this.root.classList.toggle('chosen', !!id);
    this.#detail.show(id);
    this.#draw();
    this.#read();
    clearInterval(this.#ticking);
    this.#ticking = setInterval(() => this.#tick(), SECOND);
  }

  async #read() {
    clearTimeout(this.#reading);
    const turn = ++this.#turn;
    const words = this.#search.value.trim();
    try {
      const known = await this.#context.rest.get('live-chat/visitors', { q: words || null });
      if (turn !== this.#turn) return;
      this.#known = known;
      this.#ahead = Date.parse(known.now) - Date.now();
      this.#trouble.hidden = true;
      this.#draw();
      this.#detail.follow(known.visitors, !words && known.total <= known.visitors.length);
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
    const { visitors: all, total } = known;
    this.#count.textContent = total.toLocaleString();
    STATES.forEach(([value, words, isIn], at) => {
      this.#tabs[at].setAttribute('aria-pressed', String(value === this.#state));
      this.#tabs[at].replaceChildren(words, ' ', el('span.num', {}, `${all.filter(isIn).length}`));
    });
    const isIn = STATES.find(([value]) => value === this.#state)?.[2] ?? (() => true);
    const shown = all.filter(isIn);
    reconcile(this.#list, shown.map((one) => ({
      ...one, key: one.id, isChosen: one.id === this.#chosen,
    })), (one) => row(one));
    this.#more.hidden = total <= all.length;
    this.#more.textContent = `The ${all.length} newest of ${total.toLocaleString()}. Search for others.`;
    this.#empty.hidden = shown.length > 0;
    this.#head.hidden = !shown.length;
    if (!shown.length) this.#empty.replaceChildren(...this.#nobody(known));
    this.#tick();
  }

  /** @param {PresentVisitors} known */
  #nobody({ enabled, visitors: all }) {
    if (!enabled) {
      return [icon('globe'), el('b', {}, 'You do not see who is on your site yet'),
        el('p', {}, 'Turn it on, and add data-watch to the snippet. Visitors then appear here within seconds.'),
        el('a.button.primary', { href: '#/settings/visitors' }, 'Set up')];
    }
    if (all.length || this.#search.value) {
      return [icon('search'), el('b', {}, 'Nobody matches'),
        el('p', {}, 'Change the state or the search.')];
    }
    return [icon('globe'), el('b', {}, 'Nobody is on your site now'),
      el('p', {}, 'Visitors appear here as soon as they open a page whose snippet has data-watch.'),
      el('a.button', { href: '#/settings/visitors' }, 'Get the snippet')];
  }

  /** Renews the times, which are in no model: a row changes only with its visitor. */
  #tick() {
    if (!this.#isShown) return clearInterval(this.#ticking);
    for (const node of this.root.querySelectorAll('time[data-since]')) {
      const words = since(node.getAttribute('data-since') ?? '', this.#ahead);
      if (node.textContent !== words) node.textContent = words;
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

/** @param {PresentVisitor & {isChosen: boolean}} one */
function row(one) {
  const name = nameOf(one);
  const where = pathOf(one.page);
  return el('li', {}, el(
    'a.vis-row',
    { href: `${BASE}/${one.id}`, 'aria-current': one.isChosen && 'true' },
    face({ kind: 'visitor', id: one.id, name }),
    el('span.vis-who', {},
      el('b', { dir: 'auto' }, name),
      el('span.meta', {},
        one.country && el('span.cc', { title: 'Country, by proxy or language' }, one.country),
        visitOf(one))),
    el('span.vis-on', {},
      el('span', { dir: 'auto' }, one.title || where),
      el('span.meta', { dir: 'ltr' }, where)),
    el('span.vis-state', { 'data-state': stateOf(one)[0] }, el('span.dot'), stateOf(one)[1]),
    el('span.vis-time.num', {},
      el('time', { 'data-since': one.page_at, title: 'On this page' }),
      el('span.meta', {}, one.pages === 1 ? '1 page' : `${one.pages} pages`)),
    el('span.vis-source.meta', { dir: 'auto' }, sourceOf(one)),
  ));
}
