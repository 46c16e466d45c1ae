// The pages of this visit, shared by the tabs of a site.

import { store } from '../../shared/store.js';
import { address, cut } from './address.js';

const PAUSE = 1_800_000; // ms without a page after which another visit begins
const STEPS = 20;

/**
 * @typedef {{secret: string, visits: number, began: number, last: number, pages: number,
 *   referrer: string, campaign: string, trail: {page: string, title: string, at: number}[],
 *   shown: string[]}} Visit
 */

/** The campaign that the address names. */
const campaign = () => cut(['source', 'medium', 'campaign']
  .map((name) => new URLSearchParams(location.search).get(`utm_${name}`))
  .filter(Boolean).join(' / '));

/** @param {number} at */
const age = (at) => Math.max(0, Math.round((Date.now() - at) / 1000));

export class Trail {
  #key;

  /** @param {string} key of the storage */
  constructor(key) {
    this.#key = key;
    if (!this.#visit.secret) store.set(key, { secret: crypto.randomUUID(), visits: 0, shown: [] });
  }

  get #visit() { return /** @type {Visit} */ (store.get(this.#key) ?? {}); }

  get secret() { return this.#visit.secret; }

  get isReturning() { return this.#visit.visits > 1; }

  /**
   * Whether this browser has shown a proactive message.
   * @param {string} id
   */
  hasShown(id) { return this.#visit.shown.includes(id); }

  /** @param {string} id */
  show(id) {
    store.set(this.#key, { ...this.#visit, shown: [...this.#visit.shown, id].slice(-STEPS) });
  }

  /** Adds the page. Returns whether it is another one. */
  visit() {
    const known = this.#visit;
    const now = Date.now();
    const page = address();
    const isNew = !known.trail || now - known.last > PAUSE;
    const last = isNew ? undefined : known.trail.at(-1);
    const title = cut(document.title);
    const isMove = last?.page !== page;
    const before = isNew ? [] : isMove ? known.trail : known.trail.slice(0, -1);
    store.set(this.#key, {
      ...known,
      ...isNew && {
        visits: known.visits + 1, began: now, referrer: cut(document.referrer),
        campaign: campaign(), pages: 0,
      },
      pages: (isNew ? 0 : known.pages) + (isMove ? 1 : 0),
      last: now,
      trail: [...before, { page, title, at: isMove ? now : last.at }].slice(-STEPS),
    });
    return isMove || last?.title !== title;
  }

  /** The visit for the gateway, with ages: the clock of this device may be wrong. */
  report() {
    const { visits, began, pages, referrer, campaign: named, trail } = this.#visit;
    store.set(this.#key, { ...this.#visit, last: Date.now() });
    return {
      age: age(began),
      visits,
      pages,
      referrer,
      campaign: named,
      trail: trail.map(({ page, title, at }) => ({ page, title, age: age(at) })),
    };
  }
}
