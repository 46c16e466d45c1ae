// Messages that show by themselves: the conditions of the workspace's rules, on this page.

import { store } from '../../shared/store.js';
import { isDestroyed } from './place.js';

const CHECK = 1000; // ms between two looks at the clock

/**
 * @typedef {{path?: string, seconds?: number, scroll_percent?: number, when_open?: boolean,
 *   when_available?: boolean, once?: boolean, audience?: 'anybody' | 'new' | 'returning',
 *   attributes?: Record<string, string | number | boolean>}} Conditions
 */
/** @typedef {{id: string, body: string, sender: string, when: Conditions}} Rule */
/** @typedef {{is_open: boolean, operators_available: boolean, messages: Rule[]}} PageFacts */

/**
 * Whether a path matches a pattern, in which * stands for any text. Linear: each part is searched
 * from the end of the one before, at its first occurrence.
 * @param {string} path
 * @param {string} pattern
 */
export function matches(path, pattern) {
  const parts = pattern.split('*');
  const last = /** @type {string} */ (parts.pop());
  if (!parts.length) return path === last;
  const first = /** @type {string} */ (parts.shift());
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return path.length - last.length >= at && path.endsWith(last);
}

export class Proactive {
  #place;
  #trail;
  #mayShow;
  /** A message is being shown. */
  #isBusy = false;
  /** @type {PageFacts?} */
  #facts = null;
  #openedAt = 0;
  #depth = 0;
  #timer = 0;

  /**
   * @param {import('./place.js').Place} place
   * @param {import('./trail.js').Trail} trail
   * @param {(id: string) => Promise<boolean | undefined>} mayShow asks the gateway, which counts
   *   the message as shown; undefined: there is no answer
   */
  constructor(place, trail, mayShow) {
    this.#place = place;
    this.#trail = trail;
    this.#mayShow = mayShow;
  }

  /** Another page is open. */
  opened() {
    this.#openedAt = performance.now();
    this.#depth = 0;
    if (this.#facts) this.use(this.#facts);
  }

  /** @param {PageFacts} facts */
  use(facts) {
    this.#facts = facts;
    clearInterval(this.#timer);
    if (!facts.messages.length) return;
    addEventListener('scroll', this.#scrolled, { passive: true });
    this.#scrolled();
    this.#timer = setInterval(() => this.#check(), CHECK);
    this.#check();
  }

  #scrolled = () => {
    const { scrollHeight } = document.documentElement;
    this.#depth = Math.max(this.#depth, (scrollY + innerHeight) / scrollHeight * 100);
  };

  /** The rules of which time and scrolling are not compared. */
  #candidates() {
    const facts = this.#facts;
    if (!facts) return [];
    return facts.messages.filter(({ id, when }) => (
      !(when.once && this.#trail.hasShown(id))
      && (!when.path || matches(location.pathname, when.path))
      && (!when.when_open || facts.is_open)
      && (!when.when_available || facts.operators_available)
      && this.#isMeant(when)
    ));
  }

  /** @param {Conditions} when */
  #isMeant({ audience = 'anybody', attributes = {} }) {
    const { known } = this.#place;
    return (audience === 'anybody' || this.#trail.isReturning === (audience === 'returning'))
      && Object.entries(attributes).every(([name, value]) => `${known[name]}` === `${value}`);
  }

  #check() {
    const { key, given } = this.#place;
    if (isDestroyed(this.#place)) return clearInterval(this.#timer);
    /** @type {{talk?: boolean}?} */
    const identity = store.get(key);
    // a conversation is going on, or another message waits
    if (document.hidden || identity?.talk || given.proactive || given.teased) return;
    const seconds = (performance.now() - this.#openedAt) / 1000;
    const rule = this.#candidates().find(({ when }) => (
      seconds >= (when.seconds ?? 0) && this.#depth >= (when.scroll_percent ?? 0)
    ));
    if (rule && !this.#isBusy) this.#show(rule);
  }

  /**
   * Another message may be meant for this page.
   * @param {string} id
   */
  #drop(id) {
    const facts = this.#facts;
    if (facts) this.use({ ...facts, messages: facts.messages.filter((it) => it.id !== id) });
  }

  /** @param {Rule} rule */
  async #show({ id, body, sender }) {
    const { load, given } = this.#place;
    this.#isBusy = true;
    clearInterval(this.#timer);
    const chat = await load();
    const mayShow = await this.#mayShow(id);
    this.#isBusy = false;
    if (mayShow === undefined) return; // the next page tries again
    this.#trail.show(id);
    if (!mayShow) return this.#drop(id);
    given.proactive = { id, lead: { title: sender, text: body } };
    if (!chat.view.root.open) { // else the visitor was quicker: the message stands in the chat
      given.teased = 1;
      chat.screen.tease({ sender: { kind: 'bot', id: '', name: sender }, body });
    }
    chat.screen.changed();
  }
}
