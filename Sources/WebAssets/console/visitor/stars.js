// A visitor's rating: stars and a comment. The comment is text of a stranger, so it has its own
// direction, and long words break.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';

const MOST = 5;

/**
 * @param {unknown} rating from 1 to 5
 * @param {boolean=} quiet hides them from screen readers, beside words that say the same
 */
export function stars(rating, quiet = false) {
  const full = Math.max(0, Math.min(MOST, Math.round(Number(rating)) || 0));
  return el(
    'span.stars',
    quiet ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': t('{1} of {2} stars', full, MOST) },
    '★'.repeat(full),
    el('span', {}, '☆'.repeat(MOST - full)),
  );
}

/** @param {string} text */
export const remark = (text) => el('bdi.remark', { dir: 'auto' }, text);
