// Notices that the gateway is silent, long before the heartbeat does: a `pong`, which the gateway
// answers at once, must be answered within some round trips. Other answers may take long: a message
// waits for its commit. A slow network may deliver the answer yet, so silence is only reported.

import { Command } from './protocol.js';

const QUIET = 10_000; // ms of silence after which a page that saves checks the connection
const RECENT = 1000; // ms; an input behind a longer silence checks it too
const ATTENDED = 30_000; // ms since the last input; until then a mobile network does not count
// An answer that takes longer is shown as a lost connection, until it arrives: so many round
// trips, within these bounds in ms. With the second between two checks that is less than 2 s; only
// a line with a round trip of more than 600 ms has longer.
const ROUND_TRIPS = 4;
const ANSWER_MIN = 750;
const ANSWER_MAX = 900;
const SLOW_TRIPS = 1.5;
const SLOW_MAX = 1500;

export class Probe {
  roundTrip = 0; // ms
  /** When the last probe was sent, in ms of Date.now(). Any later frame answers it. */
  sentAt = 0;
  #link;
  #changed;
  /** When somebody last used the page, in ms of Date.now(). */
  #usedAt = 0;

  /**
   * @param {import('./socket.js').Link} link
   * @param {() => void} changed
   */
  constructor(link, changed) {
    this.#link = link;
    this.#changed = changed;
  }

  /** Whether a probe has no answer yet, and should have. */
  get isMute() {
    return this.#link.state === 'open' && this.sentAt > this.#link.receivedAt
      && Date.now() - this.sentAt >= this.#patience;
  }

  get #patience() {
    const usual = Math.min(ANSWER_MAX, Math.max(ANSWER_MIN, ROUND_TRIPS * this.roundTrip));
    return Math.max(usual, Math.min(SLOW_MAX, SLOW_TRIPS * this.roundTrip));
  }

  /** Somebody uses the page, and so relies on the connection. */
  attend() {
    this.#usedAt = Date.now();
    this.probe();
  }

  /**
   * Checks the connection; to be called every second while the page is visible, so that a loss
   * shows within two seconds, also at rest. It is checked seldom if the browser saves data, or if
   * nobody uses the page in a mobile network: a radio that may not sleep costs a battery.
   */
  check() {
    const { saveData, type } = navigator.connection ?? {};
    const isUsed = Date.now() - this.#usedAt < ATTENDED;
    this.probe(saveData || (type === 'cellular' && !isUsed) ? QUIET : 0);
  }

  /** @param {number=} silence in ms, after which a probe is sent */
  probe(silence = RECENT) {
    const now = Date.now();
    const { state, receivedAt } = this.#link;
    if (state !== 'open' || this.sentAt > receivedAt || now - receivedAt < silence) return;
    this.sentAt = now;
    this.#link.request({ type: Command.pong }, () => {
      if (this.#link.state === 'open') this.roundTrip = Date.now() - now;
    });
    setTimeout(this.#changed, this.#patience);
  }
}
