// One connection to the gateway, kept up for as long as somebody wants it. It knows tokens,
// heartbeat, reconnecting and which answer belongs to which question; it knows nothing about
// conversations.
// Invariant: at most one living socket and one timer for the next attempt; a `done` is called
// exactly once.

import { backoff, verdict, within } from './backoff.js';
import { Ask, Close, Fault, PATH, SUBPROTOCOL, Tell } from './protocol.js';

const SETTLED = 10_000; // a connection this old was a good one: the backoff starts again
const FRAME_MAX = 4 << 20; // characters in one message; more can only be an error or an attack

/** @typedef {'idle'|'connecting'|'open'|'waiting'|'stopped'} LinkState */
/** @typedef {{
 *   origin: string, client: string,
 *   token: (renew: boolean) => Promise<string>,
 *   opened: (welcome: any) => void, frame: (frame: any) => void, changed: () => void,
 * }} LinkOptions `token` rejects with an error whose `final` is true when asking again is no use */

export class Link {
  /** @type {LinkState} */ state = 'idle';
  /** When anything was heard last, when the gap began, when the next attempt is due. */
  heard = 0; lostAt = 0; retryAt = 0; openedAt = 0; roundTrip = 0;
  /** The close code or error that stopped it. */ reason = /** @type {any} */ (null);
  welcome = /** @type {any} */ (null);
  #on; #socket = /** @type {WebSocket?} */ (null); #timer = 0; #silence = 0; #drain = 0; #turn = 0;
  #asked = new Map(); #ref = 0; #attempt = 0; #refusals = 0; #renew = false; #window = [0, 5000];

  /** @param {LinkOptions} options */
  constructor(options) { this.#on = options; }

  start() {
    if (this.state === 'idle' || this.state === 'stopped') {
      this.lostAt = Date.now();
      this.#connect();
    }
  }

  stop() { this.#leave(1000); this.lostAt = 0; this.#become('idle'); }

  /**
   * The network is back or somebody looks at the page: do not wait for timers that may have slept.
   */
  nudge() {
    if (this.state === 'waiting') this.#later(within(0, 500));
    else if (this.state === 'open' && this.#left() <= 0) this.drop(Close.silent);
  }

  /** Gives this socket up and reconnects as its code says. */
  drop(code) { this.#leave(code); this.#lost(code); }

  /** @param {any} frame @param {((answer: any) => void)=} done gets the one answer, or `error` */
  ask(frame, done) {
    if (this.state !== 'open') { done?.(gone()); return; }
    const at = Date.now();
    this.#asked.set(++this.#ref, (answer) => { this.roundTrip = Date.now() - at; done?.(answer); });
    this.tell({ ...frame, ref: this.#ref });
  }

  /** Whether it went out. @returns {boolean} */
  tell(frame) {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  async #connect() {
    clearTimeout(this.#timer);
    const turn = ++this.#turn;
    this.#become('connecting');
    try {
      const token = await this.#on.token(this.#renew);
      if (turn === this.#turn) this.#open(token);
    } catch (error) {
      if (turn !== this.#turn) return;
      if (error.final) this.#stopped(error); else this.#lost(0);
    }
  }

  #open(token) {
    const socket = new WebSocket(this.#on.origin.replace(/^http/, 'ws') + PATH, SUBPROTOCOL);
    const mine = (/** @type {(event: any) => void} */ act) => (event) => {
      if (socket === this.#socket) act(event);
    };
    this.#socket = socket;
    this.heard = Date.now();
    this.#watch();
    socket.onopen = mine(() => {
      this.#asked.set(++this.#ref, (answer) => this.#greeted(answer));
      this.tell({
        type: Ask.hello,
        ref: this.#ref,
        token,
        client: { name: this.#on.client, version: '1' },
      });
    });
    socket.onmessage = mine((event) => this.#receive(event.data));
    socket.onclose = mine((event) => { this.#leave(0); this.#lost(event.code); });
  }

  #greeted(answer) {
    if (answer.type !== Tell.welcome) return; // its close code says what to do
    this.welcome = answer;
    this.#renew = false;
    this.#refusals = 0;
    this.openedAt = Date.now();
    this.lostAt = 0;
    this.#become('open');
    this.#on.opened(answer);
  }

  #receive(data) {
    this.heard = Date.now();
    if (typeof data !== 'string' || data.length > FRAME_MAX) return this.drop(4100);
    for (const line of data.split('\n')) {
      let frame;
      try { frame = line && JSON.parse(line); } catch { return this.drop(4100); }
      if (frame?.type) this.#dispatch(frame);
    }
  }

  #dispatch(frame) {
    const done = this.#asked.get(frame.ref);
    if (done && frame.ref != null) { this.#asked.delete(frame.ref); return done(frame); }
    switch (frame.type) {
      case Tell.ping: return this.tell({ type: Ask.pong });
      case Tell.token_expiring: return this.#renewToken();
      case Tell.drain:
        this.#window = [frame.min_ms, frame.max_ms];
        clearTimeout(this.#drain);
        this.#drain = setTimeout(() => this.#move(), within(...this.#window));
        return;
      default: this.#on.frame(frame);
    }
  }

  /** To another node, before this one closes. */
  #move() { this.#leave(1000); this.#connect(); }

  async #renewToken() {
    const turn = this.#turn;
    try {
      const token = await this.#on.token(true);
      if (turn === this.#turn) this.ask({ type: Ask.authenticate, token });
    } catch { /* the gateway closes with 4202 at the end of its grace, and that path asks again */ }
  }

  #lost(code) {
    if (!this.lostAt) this.lostAt = Date.now();
    if (this.openedAt && Date.now() - this.openedAt > SETTLED) this.#attempt = 0;
    this.openedAt = 0;
    // also the new one was refused
    if (code === Close.invalid && (this.#refusals += 1) > 1) return this.#stopped(code);
    switch (verdict(code)) {
      case 'stop': return this.#stopped(code);
      case 'window': return this.#later(within(...this.#window));
      case 'token': this.#renew = true; // and then as for any other
      default: return this.#later(backoff(this.#attempt++));
    }
  }

  #later(delay) {
    clearTimeout(this.#timer);
    this.retryAt = Date.now() + delay;
    this.#timer = setTimeout(() => this.#connect(), delay);
    this.#become('waiting');
  }

  #stopped(reason) { this.reason = reason; this.#become('stopped'); }

  /** Forgets the socket at once: `close` of a dead one may take a minute to be reported. */
  #leave(code) {
    const socket = this.#socket;
    this.#socket = null;
    this.#turn += 1;
    clearTimeout(this.#silence);
    clearTimeout(this.#drain);
    clearTimeout(this.#timer);
    if (socket && code) socket.close(code);
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const done of asked) done(gone());
  }

  /** One timer for everything that means silence: connecting, hello, heartbeat. */
  #watch() {
    clearTimeout(this.#silence);
    const left = this.#left();
    if (left <= 0) this.drop(Close.silent);
    else this.#silence = setTimeout(() => this.#watch(), left);
  }

  /** Milliseconds until silence means that nobody is there. */
  #left() {
    const beat = this.state === 'open' && this.welcome.heartbeat;
    return this.heard - Date.now() + (beat ? beat.interval_ms + beat.timeout_ms + 5000 : 15_000);
  }

  #become(state) { this.state = state; this.#on.changed(); }
}

const gone = () => ({ type: Tell.error, code: Fault.disconnected, retry: true });
