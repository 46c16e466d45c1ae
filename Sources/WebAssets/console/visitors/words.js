// A visitor of this moment in words.

import { locale, t } from '../shell/language.js';
import { generatedName } from '../visitor/visitor-name.js';

/** @param {PresentVisitor} one */
export const nameOf = ({ name, id, visitor_id: visitor }) => name || generatedName(visitor ?? id);

/**
 * The path of an address of the web, or the whole text of any other.
 * @param {string} address
 */
export function pathOf(address) {
  try {
    const { protocol, pathname, hash } = new URL(address);
    return protocol.startsWith('http') ? pathname + hash : address;
  } catch { return address; }
}

/** @param {PresentVisitor} one */
export const sourceOf = ({ source }) => source || t('Direct');

/** The visit of a number, by the ordinals of English: other languages have one text for all. */
const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });
/** @type {Record<string, (visits: number) => string>} */
const VISITS = {
  one: (visits) => t('{}st visit', visits),
  two: (visits) => t('{}nd visit', visits),
  few: (visits) => t('{}rd visit', visits),
  other: (visits) => t('{}th visit', visits),
};

/** @param {PresentVisitor} one */
export const visitOf = ({ visits }) => (
  visits > 1 ? VISITS[ordinals.select(visits)](visits) : t('New')
);

/** @param {number} count */
export const pagesOf = (count) => count === 1 ? t('1 page') : t('{} pages', count);

/**
 * The country of a code.
 * @param {string?} code
 */
export function regionOf(code) {
  if (!code) return '';
  try {
    return new Intl.DisplayNames(locale, { type: 'region' }).of(code) ?? code;
  } catch { return code; }
}

/**
 * @param {number} milliseconds
 * @returns {string} as 1:05 or 1:02:03
 */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  /** @param {number} value */
  const two = (value) => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/**
 * The time since a moment of the gateway's clock.
 * @param {string} moment
 * @param {number} ahead how far the gateway's clock is before ours, in ms
 */
export const since = (moment, ahead) => span(Date.now() + ahead - Date.parse(moment));
