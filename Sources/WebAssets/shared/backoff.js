// What a client does after a close. Pure but for chance: no clock, no timer.

/** Only the hundred of a close code counts; unknown ones and 1000–1015 back off.
 * @param {number} code @returns {'window'|'backoff'|'token'|'stop'} */
export function verdict(code) {
  const hundreds = { 40: 'window', 42: 'token', 43: 'stop' };
  return hundreds[Math.floor(code / 100)] ?? 'backoff';
}

/** A random moment of a window, in milliseconds. */
export const within = (min, max) => min + Math.random() * (max - min);

/**
 * Full jitter: anywhere between now and a limit that grows from 1 to 60 s.
 * @param {number} attempt 0 for the first
 */
export const backoff = (attempt) => within(0, Math.min(60_000, 1000 * 2 ** attempt));
