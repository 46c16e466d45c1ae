// A visitor of this moment in words.

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
export const sourceOf = ({ source }) => source || 'Direct';

const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });
/** @type {Record<string, string>} */
const ENDINGS = { one: 'st', two: 'nd', few: 'rd', other: 'th' };

/** @param {PresentVisitor} one */
export const visitOf = ({ visits }) => (
  visits > 1 ? `${visits}${ENDINGS[ordinals.select(visits)]} visit` : 'New'
);

/** @param {number} count */
export const pagesOf = (count) => count === 1 ? '1 page' : `${count} pages`;

/**
 * The country of a code.
 * @param {string?} code
 */
export function regionOf(code) {
  if (!code) return '';
  try {
    return new Intl.DisplayNames(undefined, { type: 'region' }).of(code) ?? code;
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
