// One connection to the gateway: tokens, heartbeat, reconnecting, and the answers to requests. It
// knows nothing about conversations.
// Invariant: there is at most one open socket and one timer for the next attempt; the callback of a
// request is called exactly once.

import { backoff, within } from './backoff.js';
import { Close, Command, Event, Fault, PATH, SUBPROTOCOL } from './protocol.js';

const STABLE = 10_000; // ms; the loss of an older connection starts the backoff anew
const MESSAGE_MAX = 4 << 20; // characters; a longer message is an error or an attack
const CONNECT_TIMEOUT = 15_000; // ms until `welcome`
const SLACK = 5000; // ms that a heartbeat may be late

/** The answer to requests of a connection that closed. */
const GONE = { type: Event.error, code: Fault.disconnected, retry: true };

/** @typedef {'idle'|'connecting'|'open'|'waiting'|'stopped'} LinkState */
/** @typedef {{
 *   origin: string, client: string,
 *   token: (renew: boolean) => Promise<string>,
 *   opened: (welcome: WelcomeFrame) => void, frame: (frame: ServerFrame) => void,
 *   changed: () => void,
 * }} LinkOptions `token` rejects with an error whose `final` is true if a retry is of no use */

/** @typedef {{final?: boolean, status?: number}} TokenError `status` is the HTTP status, if any */

export class Link {
  /** @type {LinkState} */ state = 'idle';
  // Times are in ms of Date.now(), 0 for none.
  /** When the last frame arrived. */
  receivedAt = 0;
  /** When the connection was lost. */
  lostAt = 0;
  /** When the next attempt is due. */
  retryAt = 0;
  openedAt = 0;
  /**
   * The close code or the HTTP status that stopped it.
   * @type {number=}
   */
  reason;
  /** @type {WelcomeFrame=} */
  welcome;
  /**
   * Notices silence before the heartbeat does.
   * @type {import('./probe.js').Probe=}
   */
  probe;
  #on;
  #socket = /** @type {WebSocket?} */ (null);
  #timer = 0;
  #silence = 0;
  #turn = 0;
  /**
   * The callbacks of requests without an answer, by `ref`.
   * @type {Map<number | undefined, Answered | undefined>}
   */
  #requests = new Map();
  #ref = 0;
  #attempt = 0;
  #refusals = 0;
  #renew = false;
  /** @type {[number, number]} */
  #window = [0, 5000];

  /** @param {LinkOptions} options */
  constructor(options) { this.#on = options; }

  /** Whether the gateway should have answered by now. */
  get isMute() { return !!this.probe?.isMute; }

  start() {
    if (this.state === 'idle' || this.state === 'stopped') {
      this.lostAt = Date.now();
      this.#connect();
    }
  }

  stop() { this.#leave(1000); this.lostAt = 0; this.#become('idle'); }

  /**
   * The network is back, or the page is visible again. Timers of a page that slept may be late, so
   * this retries or checks the heartbeat at once. A mute connection is given up.
   */
  nudge() {
    if (this.state === 'waiting') this.#later(within(0, 500));
    else if (this.isMute) this.drop(Close.silent);
    else if (this.#socket) this.#watch();
  }

  /**
   * The browser reports that there is no network: the socket would be found dead half a minute
   * later. If the gateway can be reached nevertheless, the next attempt succeeds.
   */
  offline() { if (this.#socket) this.drop(Close.silent); }

  /**
   * Closes the socket and reconnects as its code demands.
   * @param {number} code
   */
  drop(code) { this.#leave(code); this.#lost(code); }

  /**
   * @param {ClientFrame} frame
   * @param {Answered=} done gets the one answer, or `disconnected`
   */
  request(frame, done) {
    if (this.state !== 'open' && frame.type !== Command.hello) return done?.(GONE);
    this.#requests.set(++this.#ref, done);
    this.send({ ...frame, ref: this.#ref });
  }

  /**
   * Returns whether there was a socket to send to.
   * @param {ClientFrame & {ref?: number}} frame
   */
  send(frame) {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Replaces a socket that is still open: a draining node wants its clients to leave. */
  async #connect() {
    this.#leave(1000);
    const turn = this.#turn;
    this.#become('connecting');
    try {
      const token = await this.#on.token(this.#renew);
      if (turn === this.#turn) this.#open(token);
    } catch (error) {
      const { final, status } = /** @type {TokenError} */ (error);
      if (turn === this.#turn) { if (final) this.#stopped(status); else this.#lost(0); }
    }
  }

  /** @param {string} token */
  #open(token) {
    const socket = new WebSocket(this.#on.origin.replace(/^http/, 'ws') + PATH, SUBPROTOCOL);
    this.#socket = socket;
    this.receivedAt = Date.now();
    this.#watch();
    socket.onopen = () => this.request(
      { type: Command.hello, token, client: { name: this.#on.client, version: '1' } },
      (answer) => this.#greeted(answer),
    );
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code }) => { this.#leave(); this.#lost(code); };
  }

  /** @param {Answer} answer */
  #greeted(answer) {
    if (answer.type !== Event.welcome) return; // the close code that follows decides
    this.welcome = answer;
    this.#renew = false;
    this.#refusals = this.lostAt = 0;
    this.openedAt = Date.now();
    this.#become('open');
    this.#on.opened(answer);
  }

  /** @param {string} data one JSON object a line */
  #receive(data) {
    /** @type {ServerFrame[]} */
    let frames;
    this.receivedAt = Date.now();
    if (data.length > MESSAGE_MAX) return this.drop(4100);
    try { frames = data.split('\n').map((line) => line && JSON.parse(line)); } catch {
      return this.drop(4100);
    }
    for (const frame of frames) if (frame?.type) this.#dispatch(frame);
  }

  /** @param {ServerFrame} frame */
  #dispatch(frame) {
    const { type, ref } = frame;
    const done = this.#requests.get(ref);
    this.#requests.delete(ref);
    if (done) {
      done(/** @type {Answer} */ (frame));
    } else if (type === Event.ping) {
      this.send({ type: Command.pong });
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
      if (turn === this.#turn) this.request({ type: Command.authenticate, token });
    } catch { /* the gateway closes with 4202 later, and reconnecting gets a new token */ }
  }

  /**
   * Only the hundred of a close code counts (PROTOCOL.md, Close codes). Others back off, 1000–1015
   * among them.
   * @param {number} code
   */
  #lost(code) {
    const range = Math.floor(code / 100);
    this.lostAt ||= Date.now();
    if (this.openedAt && Date.now() - this.openedAt > STABLE) this.#attempt = 0;
    this.openedAt = 0;
    // the second 4203 refuses a new token
    if (range === 43 || code === Close.invalid && this.#refusals++) return this.#stopped(code);
    if (range === 42) this.#renew = true;
    this.#later(range === 40 ? within(...this.#window) : backoff(this.#attempt++));
    this.#become('waiting');
  }

  /** @param {number} delay */
  #later(delay) {
    clearTimeout(this.#timer);
    this.retryAt = Date.now() + delay;
    this.#timer = setTimeout(() => this.#connect(), delay);
  }

  /** @param {number=} reason */
  #stopped(reason) { this.reason = reason; this.#become('stopped'); }

  /**
   * Forgets the socket at once: a dead one may report its `close` a minute later.
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
    const requests = this.#requests;
    this.#requests = new Map();
    for (const done of requests.values()) done?.(GONE);
  }

  /** One timer for all silence: while connecting, after `hello`, between heartbeats. */
  #watch() {
    const beat = this.state === 'open' && this.welcome?.heartbeat;
    const left = this.receivedAt - Date.now()
      + (beat ? beat.interval_ms + beat.timeout_ms + SLACK : CONNECT_TIMEOUT);
    clearTimeout(this.#silence);
    if (left > 0) this.#silence = setTimeout(() => this.#watch(), left);
    else this.drop(Close.silent);
  }

  /** @param {LinkState} state */
  #become(state) { this.state = state; this.#on.changed(); }
}
