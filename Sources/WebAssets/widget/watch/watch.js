// Tells the gateway which page the visitor has open, and shows messages that nobody had to ask for:
// of an operator who begins a conversation, or of a rule (proactive.js). It begins when the page is
// idle; the loader loads it if its snippet has data-watch and the browser does not object.
// Invariant: no connection is opened; a hidden tab sends nothing until it is shown again.

import { store } from '../../shared/store.js';
import { tab } from '../tab.js';
import { isDestroyed } from './place.js';
import { Proactive } from './proactive.js';
import { Trail } from './trail.js';

const SETTLE = 300; // ms: a router sets the title after the address
const USUAL = 60; // s between heartbeats, after a failure
const FACTS_FOR = 600_000; // ms: then hours and availability are read again

/** @typedef {import('./place.js').Place} Place */
/** @typedef {'here' | 'away' | 'gone'} State */
/** @typedef {{session: string, sender: string, body: string}} Invitation */
/**
 * @typedef {{enabled: boolean, next_seconds?: number, needs_visit?: boolean,
 *   invitation?: Invitation, may_show?: boolean, page?: import('./proactive.js').PageFacts}} Answer
 */

class Watch {
  #place;
  #trail;
  #proactive;
  #tab;
  /** Nothing more is sent. */
  #isOver = false;
  /** The page was closed: the end of its visibility, which follows, is not sent any more. */
  #hasLeft = false;
  /** Until then the page has what it needs for proactive messages. */
  #knownUntil = 0;
  #timer = 0;
  #settling = 0;

  /** @param {Place} place */
  constructor(place) {
    const { key, given } = place;
    this.#place = place;
    this.#trail = new Trail(`${key}:visit`);
    given.watcher = this.#trail.secret;
    this.#proactive = new Proactive(place, this.#trail, async (id) => (
      (await this.#send('here', false, id))?.may_show
    ));
    this.#tab = tab.get(`${key}:tab`) || crypto.randomUUID().slice(0, 8);
    tab.set(`${key}:tab`, this.#tab);
  }

  start() {
    this.#follow();
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#leave('away'); else this.#send('here', false);
    });
    addEventListener('pagehide', () => this.#leave('gone'));
    addEventListener('pageshow', ({ persisted }) => {
      this.#hasLeft = false;
      if (persisted) this.#send('here', true);
    });
    this.#trail.visit();
    this.#proactive.opened();
    this.#send(document.hidden ? 'away' : 'here', true);
  }

  /** Notices every change of the address. */
  #follow() {
    const moved = () => {
      clearTimeout(this.#settling);
      this.#settling = setTimeout(() => this.#navigated(), SETTLE);
    };
    for (const name of /** @type {const} */ (['pushState', 'replaceState'])) {
      const original = history[name];
      history[name] = function call(...args) {
        original.apply(this, args);
        moved();
      };
    }
    addEventListener('popstate', moved);
    addEventListener('hashchange', moved);
  }

  #navigated() {
    if (this.#isEnded() || !this.#trail.visit()) return;
    this.#proactive.opened();
    if (!document.hidden) this.#send('here', true);
  }

  /** After `destroy` this file does nothing more. */
  #isEnded() {
    const isGone = isDestroyed(this.#place);
    if (isGone && !this.#isOver) this.#leave('gone');
    this.#isOver ||= isGone;
    return this.#isOver;
  }

  /**
   * @param {State} state
   * @param {boolean} full whether the gateway needs the whole visit
   * @param {string=} show a proactive message
   */
  #body(state, full, show) {
    return JSON.stringify({
      workspace: this.#place.given.workspace,
      secret: this.#trail.secret,
      tab: this.#tab,
      state,
      visit: full ? this.#trail.report() : undefined,
      show,
      page: state === 'here' && performance.now() >= this.#knownUntil || undefined,
    });
  }

  get #address() { return `${this.#place.origin}/api/v1/widget/visit`; }

  /** @param {State} state */
  #leave(state) {
    clearTimeout(this.#timer);
    // as text/plain, which needs no preflight (Fetch §4.8)
    if (this.#isOver || this.#hasLeft) return;
    this.#hasLeft = state === 'gone';
    navigator.sendBeacon(this.#address, this.#body(state, false));
  }

  /**
   * @param {State} state
   * @param {boolean} full
   * @param {string=} show
   * @returns {Promise<Answer | undefined>} undefined if there is none
   */
  async #send(state, full, show) {
    clearTimeout(this.#timer);
    if (this.#isEnded()) return;
    let wait = USUAL;
    let answer;
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        body: this.#body(state, full, show),
        keepalive: true,
        credentials: 'omit',
      });
      if (response.ok) {
        answer = await response.json();
        wait = this.#take(answer, full);
      } else if (response.status !== 429 && response.status < 500) {
        this.#isOver = true; // the workspace or the site is unknown: asking again is of no use
      }
    } catch { /* offline: the next heartbeat tries again */ }
    if (!document.hidden && !this.#isOver) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#send('here', false), wait * 1000);
    }
    return answer;
  }

  /**
   * Returns the seconds until the next heartbeat.
   * @param {Answer} answer
   * @param {boolean} wasFull
   */
  #take(answer, wasFull) {
    const { enabled, next_seconds: next = USUAL, needs_visit: needsVisit } = answer;
    if (!enabled) this.#isOver = true;
    if (answer.page) {
      this.#knownUntil = performance.now() + FACTS_FOR;
      this.#proactive.use(answer.page);
    }
    if (answer.invitation) this.#accept(answer.invitation);
    if (needsVisit && !wasFull) this.#send('here', true);
    return next;
  }

  /**
   * An operator has begun a conversation. A visitor without an identity gets one: the secret of
   * this browser is its first refresh secret.
   * @param {Invitation} invitation
   */
  async #accept({ session, sender, body }) {
    const { key, given, root, load } = this.#place;
    const done = `${key}:invited`;
    if (store.get(done) === session) return;
    store.set(done, session);
    /** @type {import('../visitor.js').Identity?} */
    const known = store.get(key);
    const wasLoaded = root.childElementCount > 1;
    if (known?.session === session && wasLoaded) return; // the message comes by the socket
    store.set(key, {
      refresh: this.#trail.secret, token: '', ...known, session, expires_at: '', talk: true,
    });
    const chat = await load();
    if (wasLoaded) await chat.session.introduce();
    given.teased = 1;
    chat.screen.tease({ sender: { kind: 'operator', id: '', name: sender }, body });
    chat.screen.changed();
  }
}

/** @param {Place} place */
export function watch(place) {
  (window.requestIdleCallback ?? setTimeout)(() => {
    if (!isDestroyed(place)) new Watch(place).start();
  });
}
