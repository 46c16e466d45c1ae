// What a client does after a close: the hundred of the code decides. Pure: no clock, no timer.

import { Close } from './protocol.js';

/** @typedef {{action: 'window'|'backoff'|'token'|'stop'}} Verdict */

/** @param {number} code a close code; unknown ones and 1000–1015 back off */
export function verdict(code) {
  switch (Math.floor(code / 100)) {
    case 40: return 'window'; // a random moment of the window, the backoff stays as it is
    case 42: return 'token'; // a new token first
    case 43: return 'stop'; // and say so
    default: return 'backoff';
  }
}

/** Full jitter: anywhere between now and an exponentially growing limit of 1 to 60 s.
 * @param {number} attempt 0 for the first */
export function backoff(attempt, random = Math.random) {
  return random() * Math.min(60_000, 1000 * 2 ** Math.min(attempt, 6));
}

/** @param {number} min @param {number} max milliseconds */
export function within(min, max, random = Math.random) {
  return min + random() * Math.max(0, max - min);
}

/** 4203 twice in a row: the token is refused for good. */
export function refusedForGood(code, refusals) {
  return code === Close.invalidToken && refusals >= 2;
}
