// A visitor of this moment in words.

import { generatedName } from '../visitor/visitor-name.js';

/** @param {PresentVisitor} one */
export const nameOf = ({ name, id, visitor_id: visitor }) => name || generatedName(visitor ?? id);

/**
 * The path of an address, or the whole text if it is none.
 * @param {string} address
 */
export function pathOf(address) {
  try {
    const { pathname, hash } = new URL(address);
    return pathname + hash;
  } catch { return address; }
}

/** @param {PresentVisitor} one */
export function sourceOf({ campaign, referrer }) {
  if (campaign) return campaign;
  try { return new URL(referrer).host; } catch { return referrer || 'Direct'; }
}

/** @param {PresentVisitor} one */
export const visitOf = ({ visits }) => visits > 1 ? `Returning, visit ${visits}` : 'New';

/**
 * @param {PresentVisitor} one
 * @returns {[state: string, words: string]}
 */
export function stateOf({ state, session, status }) {
  if (session) return ['chatting', status === 'waiting' ? 'Waiting' : 'In a conversation'];
  return state === 'here' ? ['here', 'Browsing'] : ['away', 'Away'];
}

/**
 * The time since a moment of the gateway's clock, as 1:05 or 1:02:03.
 * @param {string} moment
 * @param {number} ahead how far the gateway's clock is before ours, in ms
 */
export function since(moment, ahead) {
  const seconds = Math.max(0, Math.round((Date.now() + ahead - Date.parse(moment)) / 1000));
  /** @param {number} value */
  const two = (value) => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
