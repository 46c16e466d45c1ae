// Loads the file that tells the gateway who is on the site: only if the snippet has data-watch, and
// unless the browser objects (Global Privacy Control, Do Not Track).

import { objects } from './objection.js';

/** @typedef {import('../watch/watch.js').Place} Place */

/**
 * @param {Omit<Place, 'load' | 'given'> & {load: () => Promise<unknown>,
 *   given: Record<string, unknown>}} place
 */
export function watching(place) {
  if (!('watch' in place.given) || objects()) return;
  import(place.origin + WATCH).then(
    (it) => it.watch(/** @type {Place} */ (/** @type {unknown} */ (place))),
    console.warn,
  );
}
