// A figure compared with that of the period before: an arrow, how much, and in words whether that
// is better. The arrow and the colour only repeat the words.

import { el } from '../../shared/dom.js';
import { count } from './marks.js';

/**
 * What more of it is: `neutral` is neither better nor worse.
 * @typedef {{up: string, down: string, better: 'up' | 'down' | 'neutral'}} Sense
 */
/** @type {Sense} */
export const TIME = { up: 'slower', down: 'faster', better: 'down' };
/** @type {Sense} */
export const NUMBER = { up: 'more', down: 'fewer', better: 'neutral' };
/** @type {Sense} */
export const SHARE = { up: 'better', down: 'worse', better: 'up' };

/** A larger change, in per cent, says only that there was next to nothing before. */
const MOST = 999;

/**
 * @param {number | null | undefined} now
 * @param {number | null | undefined} before
 * @param {Sense} sense
 * @param {string=} unit one of a difference, for percentages; else the change is relative
 */
function difference(now, before, sense, unit) {
  if (now == null || before == null || !unit && !before) return null;
  const by = Math.round(unit ? now - before : (now - before) / before * 100);
  if (by > MOST) return null;
  if (!by) return { words: 'unchanged', tone: '', arrow: '' };
  const way = by > 0 ? 'up' : 'down';
  const tone = sense.better === 'neutral' ? '' : sense.better === way ? 'better' : 'worse';
  const size = Math.abs(by);
  const measure = !unit ? '%' : size === 1 ? unit : `${unit}s`;
  const words = `${count.format(size)}\u00a0${measure} ${sense[way]}`;
  return { words, tone, arrow: by > 0 ? '▲' : '▼' };
}

/**
 * “▲ 12 % slower”, or nothing without both figures.
 * @param {number | null | undefined} now
 * @param {number | null | undefined} before
 * @param {Sense} sense
 * @param {string=} unit
 */
export function change(now, before, sense, unit) {
  const found = difference(now, before, sense, unit);
  if (!found) return null;
  const { words, tone, arrow } = found;
  return el(
    `span.change${tone && `.${tone}`}`,
    {},
    arrow && el('span', { 'aria-hidden': 'true' }, `${arrow}\u00a0`),
    words,
  );
}
