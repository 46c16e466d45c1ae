// How long a client waits. Pure but for chance: no clock, no timer.

/**
 * A random moment of a window, in milliseconds.
 * @param {number} min
 * @param {number} max
 */
export const within = (min, max) => min + Math.random() * (max - min);

/**
 * Full jitter: anywhere between now and a limit that grows from 1 to 60 s.
 * @param {number} attempt 0 for the first
 */
export const backoff = (attempt) => within(0, Math.min(60_000, 1000 * 2 ** attempt));
