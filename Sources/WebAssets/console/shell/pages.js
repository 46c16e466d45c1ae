// The pages beside the inbox. The hash of the address names the open one: `#/visitors[/ID]`,
// `#/analytics[/DAYS[/PART[/KIND/ID]]]` or `#/settings[/NAME[/ITEM]]`; all other hashes belong to
// the inbox. A page is made at its first visit and then kept, with the changes that are not saved
// yet.

import { el, icon } from '../../shared/dom.js';
import { t } from './language.js';
import { rest } from './rest.js';

/**
 * @typedef {{root: HTMLElement, show: (path: string[]) => void, unsaved?: () => number}} Page
 * `unsaved` counts changes
 */
/** @typedef {{session: () => Login, rest: Rest, changed: () => void}} PageContext */
/** @typedef {typeof import('./rare-pages.js')} RarePages */

/**
 * @type {Record<string, {title: string, look: string,
 *   load: (ended: () => void) => Promise<(context: PageContext) => Page>}>}
 */
const PAGES = {
  visitors: { title: t('Visitors'), look: 'globe', load: (ended) => rare('visitors', ended) },
  analytics: { title: t('Analytics'), look: 'chart', load: (ended) => rare('analytics', ended) },
  settings: { title: t('Settings'), look: 'sliders', load: (ended) => rare('settings', ended) },
};

/** The file of the pages is of another version: the gateway was upgraded under this console. */
class Outdated extends Error {}

const RELOADED = 'chirrup:console:reloaded'; // when this tab was reloaded for a newer version
const RELOAD_EVERY = 60_000; // ms

/**
 * Reloads the console, which then opens the same page. While gateways of two versions answer, as
 * in an upgrade of one after the other, the page of one may get the file of the other again: so it
 * does that once a minute.
 */
function reloadOnce() {
  const last = Number(sessionStorage.getItem(RELOADED));
  if (Date.now() - last < RELOAD_EVERY) return false;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
  return true;
}

/**
 * Loads another file.
 * @template {{build: string}} Part
 * @param {() => Promise<Part>} load
 */
export async function other(load) {
  const part = await load();
  if (part.build === BUILD) return part;
  if (reloadOnce()) await new Promise(() => {}); // until the browser has left this page
  throw new Outdated();
}

/** @returns {Promise<RarePages>} */
export const rarePages = () => other(() => import(PAGES_FILE));

/**
 * A page of the other file. It gets that file's `rest`, whose refusals the page knows.
 * @param {'visitors' | 'analytics' | 'settings'} name
 * @param {() => void} ended
 * @returns {Promise<(context: PageContext) => Page>}
 */
async function rare(name, ended) {
  const pages = await rarePages();
  const own = pages.rest(ended);
  return (context) => pages[name]({ ...context, rest: own });
}

export class Pages {
  /** The page that covers the inbox, or ''. */
  current = '';
  #pages = /** @type {Map<string, Page>} */ (new Map());
  #context;
  #ended;
  #links = /** @type {Record<string, HTMLElement>} */ ({});
  #turn = 0;

  /**
   * @param {{session: () => Login, ended: () => void}} on `ended` is called when the gateway
   *   refuses the session
   */
  constructor(on) {
    this.#ended = on.ended;
    this.#context = {
      session: on.session,
      rest: rest(on.ended),
      changed: () => this.#mark(),
    };
    this.root = el('div.page', { hidden: true });
    for (const [name, { title, look }] of Object.entries(PAGES)) {
      this.#links[name] = el(
        'a',
        { href: `#/${name}`, title },
        icon(look),
        el('span.unsaved', { 'aria-hidden': 'true', hidden: true }),
        el('span.word', {}, title),
      );
    }
    this.#mark();
  }

  /** For the rail. */
  get links() { return Object.values(this.#links); }

  get title() { return this.current && PAGES[this.current].title; }

  /** The number of unsaved changes in all pages. */
  get unsaved() {
    return [...this.#pages.values()].reduce((sum, page) => sum + (page.unsaved?.() ?? 0), 0);
  }

  /**
   * Opens the page that the hash names; returns whether it names one.
   * @param {string} hash
   */
  route(hash) {
    const [name, ...path] = hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
    const turn = ++this.#turn;
    const before = this.current;
    this.current = hash.startsWith('#/') && name in PAGES ? name : '';
    this.root.hidden = !this.current;
    for (const [key, link] of Object.entries(this.#links)) {
      if (key === this.current) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (this.current) this.#open(this.current, path, turn, before !== this.current);
    return !!this.current;
  }

  /**
   * @param {string} name
   * @param {string[]} path
   * @param {number} turn that of the newest call
   * @param {boolean} isNew whether the page takes the place of another one
   */
  async #open(name, path, turn, isNew) {
    let page = this.#pages.get(name);
    if (!page) {
      try {
        const make = await PAGES[name].load(this.#ended);
        page = this.#pages.get(name) ?? make(this.#context);
        this.#pages.set(name, page);
      } catch (error) {
        if (turn !== this.#turn) return;
        this.root.replaceChildren(this.#failed(name, path, error));
        return;
      }
    }
    if (turn !== this.#turn) return;
    if (page.root.parentNode !== this.root) this.root.replaceChildren(page.root);
    page.show(path);
    if (isNew) page.root.querySelector('h1')?.focus({ preventScroll: true });
  }

  /**
   * @param {string} name
   * @param {string[]} path
   * @param {unknown} error
   */
  #failed(name, path, error) {
    console.warn('chirrup', error);
    const [title, hint, words, act] = error instanceof Outdated
      ? [
        t('A new version of the console is here'),
        t('Reload to open this page. Drafts and unsent messages are kept.'),
        t('Reload'),
        () => location.reload(),
      ]
      : [
        t('This page could not be loaded'),
        t('The server is not responding. The rest of the console still works.'),
        t('Try again'),
        () => this.#open(name, path, ++this.#turn, true),
      ];
    return el(
      'main.empty',
      { 'aria-label': PAGES[name].title },
      icon('nowifi'),
      el('b', {}, title),
      el('p', {}, hint),
      el('button.button', { type: 'button', click: act }, words),
    );
  }

  /** Marks the links of pages with unsaved changes. */
  #mark() {
    for (const [name, link] of Object.entries(this.#links)) {
      const count = this.#pages.get(name)?.unsaved?.() ?? 0;
      const page = PAGES[name].title;
      const title = count === 1
        ? t('{}, 1 unsaved change', page)
        : count ? t('{1}, {2} unsaved changes', page, count) : page;
      link.querySelector('.unsaved')?.toggleAttribute('hidden', !count);
      link.setAttribute('aria-label', title);
      link.title = title;
    }
  }
}
