// A figure compared with that of the period before: an arrow, how much, and in words whether that
// is better. The arrow and the colour only repeat the words.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { count } from './marks.js';

/**
 * The words for more and for less of it; `neutral` is neither better nor worse. The difference of
 * percentages is one in `points`, else it is relative.
 * @typedef {{up: (size: string) => string, down: (size: string) => string,
 *   better: 'up' | 'down' | 'neutral', points?: boolean}} Sense
 */
/** @type {Sense} */
export const TIME = {
  up: (size) => t('{}\u00a0% slower', size), down: (size) => t('{}\u00a0% faster', size),
  better: 'down',
};
/** @type {Sense} */
export const NUMBER = {
  up: (size) => t('{}\u00a0% more', size), down: (size) => t('{}\u00a0% fewer', size),
  better: 'neutral',
};
/** @type {Sense} */
export const MEAN = {
  up: (size) => t('{}\u00a0% better', size), down: (size) => t('{}\u00a0% worse', size),
  better: 'up',
};
/** @type {Sense} */
export const SHARE = {
  up: (size) => size === '1' ? t('1\u00a0point better') : t('{}\u00a0points better', size),
  down: (size) => size === '1' ? t('1\u00a0point worse') : t('{}\u00a0points worse', size),
  better: 'up',
  points: true,
};
/** @type {Sense} */
export const RESPONSE = {
  up: (size) => size === '1' ? t('1\u00a0point more') : t('{}\u00a0points more', size),
  down: (size) => size === '1' ? t('1\u00a0point fewer') : t('{}\u00a0points fewer', size),
  better: 'neutral',
  points: true,
};

/** A larger change, in per cent, says only that there was next to nothing before. */
const MOST = 999;

/**
 * @param {number | null | undefined} now
 * @param {number | null | undefined} before
 * @param {Sense} sense
 */
function difference(now, before, sense) {
  if (now == null || before == null || !sense.points && !before) return null;
  const by = Math.round(sense.points ? now - before : (now - before) / before * 100);
  if (by > MOST) return null;
  if (!by) return { words: t('unchanged'), tone: '', arrow: '' };
  const way = by > 0 ? 'up' : 'down';
  const tone = sense.better === 'neutral' ? '' : sense.better === way ? 'better' : 'worse';
  const words = sense[way](count.format(Math.abs(by)));
  return { words, tone, arrow: by > 0 ? '▲' : '▼' };
}

/**
 * “▲ 12 % slower”, or nothing without both figures.
 * @param {number | null | undefined} now
 * @param {number | null | undefined} before
 * @param {Sense} sense
 */
export function change(now, before, sense) {
  const found = difference(now, before, sense);
  if (!found) return null;
  const { words, tone, arrow } = found;
  return el(
    `span.change${tone && `.${tone}`}`,
    {},
    arrow && el('span', { 'aria-hidden': 'true' }, `${arrow}\u00a0`),
    words,
  );
}
