// One connection to the gateway, kept up for as long as somebody wants it. It knows tokens,
// heartbeat, reconnecting and which answer belongs to which question; it knows nothing about
// conversations.
// Invariant: at most one living socket and one timer for the next attempt; a `done` is called
// exactly once.

import { backoff, within } from './backoff.js';
import { Close, Command, Event, Fault, PATH, SUBPROTOCOL } from './protocol.js';

const SETTLED = 10_000; // a connection this old was a good one: the backoff starts again
const FRAME_MAX = 4 << 20; // characters in one message; more can only be an error or an attack

const GONE = { type: Event.error, code: Fault.disconnected, retry: true };

/** @typedef {'idle'|'connecting'|'open'|'waiting'|'stopped'} LinkState */
/** @typedef {{
 *   origin: string, client: string,
 *   token: (renew: boolean) => Promise<string>,
 *   opened: (welcome: any) => void, frame: (frame: any) => void, changed: () => void,
 * }} LinkOptions `token` rejects with an error whose `final` is true when asking again is no use */

export class Link {
  /** @type {LinkState} */ state = 'idle';
  /** When anything was heard last. */
  heard = 0;
  /** When the gap began, 0 while there is none. */
  lostAt = 0;
  /** When the next attempt is due. */
  retryAt = 0;
  openedAt = 0;
  /**
   * The close code or error that stopped it.
   * @type {any}
   */
  reason;
  /** @type {any} */
  welcome;
  #on;
  #socket = /** @type {WebSocket?} */ (null);
  #timer = 0;
  #silence = 0;
  #turn = 0;
  /** @type {Map<number, ((answer: any) => void) | undefined>} */
  #asked = new Map();
  #ref = 0;
  #attempt = 0;
  #refusals = 0;
  #renew = false;
  /** @type {[number, number]} */
  #window = [0, 5000];

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
    else if (this.#socket) this.#watch();
  }

  /**
   * Gives this socket up and reconnects as its code says.
   * @param {number} code
   */
  drop(code) { this.#leave(code); this.#lost(code); }

  /** @param {any} frame @param {((answer: any) => void)=} done gets the one answer, or `error` */
  ask(frame, done) {
    if (this.state !== 'open' && frame.type !== Command.hello) return done?.(GONE);
    this.#asked.set(++this.#ref, done);
    this.tell({ ...frame, ref: this.#ref });
  }

  /**
   * Whether it went out.
   * @param {Frame} frame
   */
  tell(frame) {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** To another node, if there still is a socket to this one. */
  async #connect() {
    this.#leave(1000);
    const turn = this.#turn;
    this.#become('connecting');
    try {
      const token = await this.#on.token(this.#renew);
      if (turn === this.#turn) this.#open(token);
    } catch (error) {
      if (turn === this.#turn) { if (/** @type {any} */ (error).final) this.#stopped(error); else this.#lost(0); }
    }
  }

  /** @param {string} token */
  #open(token) {
    const socket = new WebSocket(this.#on.origin.replace(/^http/, 'ws') + PATH, SUBPROTOCOL);
    this.#socket = socket;
    this.heard = Date.now();
    this.#watch();
    socket.onopen = () => this.ask(
      { type: Command.hello, token, client: { name: this.#on.client, version: '1' } },
      (answer) => this.#greeted(answer),
    );
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code }) => { this.#leave(); this.#lost(code); };
  }

  /** @param {any} answer */
  #greeted(answer) {
    if (answer.type !== Event.welcome) return; // its close code says what to do
    this.welcome = answer;
    this.#renew = false;
    this.#refusals = this.lostAt = 0;
    this.openedAt = Date.now();
    this.#become('open');
    this.#on.opened(answer);
  }

  /** @param {any} data */
  #receive(data) {
    let frames;
    this.heard = Date.now();
    if (data.length > FRAME_MAX) return this.drop(4100);
    try { frames = data.split('\n').map((/** @type {string} */ line) => line && JSON.parse(line)); } catch {
      return this.drop(4100);
    }
    for (const frame of frames) if (frame?.type) this.#dispatch(frame);
  }

  /** @param {Frame} frame */
  #dispatch(frame) {
    const { type, ref } = frame;
    const done = this.#asked.get(ref);
    this.#asked.delete(ref);
    if (done) {
      done(frame);
    } else if (type === Event.ping) {
      this.tell({ type: Command.pong });
    } else if (type === Event.token_expiring) {
      this.#renewToken();
    } else if (type === Event.drain) {
      this.#window = [frame.min_ms, frame.max_ms];
      this.#later(within(...this.#window));
    } else {
      this.#on.frame(frame);
    }
  }

  async #renewToken() {
    const turn = this.#turn;
    try {
      const token = await this.#on.token(true);
      if (turn === this.#turn) this.ask({ type: Command.authenticate, token });
    } catch { /* the gateway closes with 4202 at the end of its grace, and that path asks again */ }
  }

  /**
   * Only the hundred of a close code counts; unknown ones and 1000–1015 back off.
   * @param {number} code
   */
  #lost(code) {
    const kind = Math.floor(code / 100);
    this.lostAt ||= Date.now();
    if (this.openedAt && Date.now() - this.openedAt > SETTLED) this.#attempt = 0;
    this.openedAt = 0;
    // also the new one was refused
    if (kind === 43 || code === Close.invalid && this.#refusals++) return this.#stopped(code);
    if (kind === 42) this.#renew = true;
    this.#later(kind === 40 ? within(...this.#window) : backoff(this.#attempt++));
    this.#become('waiting');
  }

  /** @param {number} delay */
  #later(delay) {
    clearTimeout(this.#timer);
    this.retryAt = Date.now() + delay;
    this.#timer = setTimeout(() => this.#connect(), delay);
  }

  /** @param {any} reason */
  #stopped(reason) { this.reason = reason; this.#become('stopped'); }

  /**
   * Forgets the socket at once: `close` of a dead one may take a minute to be reported.
   * @param {number=} code
   */
  #leave(code = 1000) {
    const socket = this.#socket;
    this.#turn += 1;
    clearTimeout(this.#silence);
    clearTimeout(this.#timer);
    if (socket) {
      this.#socket = socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close(code);
    }
    const asked = this.#asked;
    this.#asked = new Map();
    for (const done of asked.values()) done?.(GONE);
  }

  /** One timer for everything that means silence: connecting, hello, heartbeat. */
  #watch() {
    const beat = this.state === 'open' && this.welcome.heartbeat;
    const left = this.heard - Date.now()
      + (beat ? beat.interval_ms + beat.timeout_ms + 5000 : 15_000);
    clearTimeout(this.#silence);
    if (left > 0) this.#silence = setTimeout(() => this.#watch(), left);
    else this.drop(Close.silent);
  }

  /** @param {LinkState} state */
  #become(state) { this.state = state; this.#on.changed(); }
}
