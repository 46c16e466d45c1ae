// What can be answered with one click: cards, buttons, quick replies, the workspace's menu. It comes
// from bots and settings, so a part that is not as it should be is left out.

import { el } from '../../shared/dom.js';
import { say } from '../words.js';

const SAFE = /^(https?|mailto|tel):/i;

/** @typedef {(label: string, value: string, type?: string) => void} Act */

/** @param {any} some @returns {any[]} */
export const list = (some) => some?.map ? some : [];

/** @param {any} some @param {string} look @param {Act} act */
const buttons = (some, look, act) => list(some).map(({ label, type, value }) => type !== 'url'
  ? el(`button.${look}`, { click: () => act(label, value, type) }, label)
  : SAFE.test(value) && el(`a.${look}`, { href: value, target: '_blank', rel: 'noopener' }, label));

/** @param {any} it @param {Act} choose */
const card = (it, choose) => el(
  'div.card',
  { dir: 'auto' },
  /^https:/.test(it?.image_url) && el('img', { src: it.image_url, alt: '' }),
  it?.title && el('h3', {}, it.title),
  it?.title && it.text && el('p', {}, it.text),
  buttons(it?.buttons, 'offer', choose),
);

/**
 * What a message offers besides its text.
 * @param {any} payload
 * @param {Act} choose
 */
export const offers = (payload, choose) => payload.cards
  ? el('div.cards', { tabindex: 0 }, list(payload.cards).map((it) => card(it, choose)))
  : (payload.title || payload.buttons) && card(payload, choose);

/** @param {any} some @param {Act} choose */
export const replies = (some, choose) => el(
  'div.replies',
  { dir: 'auto' },
  buttons(some, 'reply', choose),
);

/** @param {any} actions @param {(text: string, payload?: any) => void} send */
export const menu = (actions, send) => el(
  'details.menu',
  {},
  el('summary', {}, say('menu')),
  el('div', { dir: 'auto' }, buttons(
    actions,
    'action',
    (label, value, type) => type === 'operator' ? send(label, { handover: true }) : send(value),
  )),
);
