// How a visitor rated a conversation: stars, and what was written with them. A comment is anybody's
// text: it stays text, in a direction of its own, and its words break where they must.

import { el } from '../../shared/dom.js';

const MOST = 5;

/** @param {any} rating from 1 to 5 @param {boolean=} quiet the words beside them say the same */
export function stars(rating, quiet = false) {
  const full = Math.max(0, Math.min(MOST, Math.round(Number(rating)) || 0));
  return el(
    'span.stars',
    quiet ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': `${full} of ${MOST} stars` },
    '★'.repeat(full),
    el('span', {}, '☆'.repeat(MOST - full)),
  );
}

/** @param {string} text */
export const remark = (text) => el('bdi.remark', { dir: 'auto' }, text);
