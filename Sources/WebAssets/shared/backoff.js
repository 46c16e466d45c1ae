// Delays of a client that reconnects. Pure apart from Math.random: no clock, no timer.

/**
 * A random delay of a window, in milliseconds.
 * @param {number} min
 * @param {number} max
 */
export const within = (min, max) => min + Math.random() * (max - min);

/**
 * Exponential backoff with full jitter: from 0 to a limit that grows from 1 to 60 s.
 * @param {number} attempt the number of failed attempts before this one
 */
export const backoff = (attempt) => within(0, Math.min(60_000, 1000 * 2 ** attempt));
