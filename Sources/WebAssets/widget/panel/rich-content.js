// Cards, buttons, quick replies and the workspace's menu. Bots and other servers write them, so
// parts of the wrong type are left out.

import { el } from '../../shared/dom.js';
import { list } from './list.js';

const SAFE = /^(https?|mailto|tel):/i;

/** @typedef {(label: string, value?: string, type?: string) => void} Act is called by a click */

/**
 * @param {Choice[] | undefined} some
 * @param {string} look a class
 * @param {Act} act
 */
const buttons = (some, look, act) => list(some).map(({ label, type, value }) => type !== 'url'
    ? el(`button.${look}`, { click: () => act(label, value, type) }, label)
    : SAFE.test(value ?? '')
    && el(`a.${look}`, { href: value, target: '_blank', rel: 'noopener' }, label));

/**
 * @param {Card | null} it
 * @param {Act} choose
 */
const card = (it, choose) => el(
  'div.card',
  { dir: 'auto' },
  /^https:/.test(it?.image_url ?? '') && el('img', { src: it?.image_url, alt: '' }),
  it?.title && el('h3', {}, it.title),
  it?.title && it.text && el('p', {}, it.text),
  buttons(it?.buttons, 'offer', choose),
);

/**
 * The cards or buttons of a message.
 * @param {Payload} payload
 * @param {Act} choose
 */
export const richContent = (payload, choose) => list(payload.cards)[0]
  ? el('div.cards', { tabindex: 0 }, list(payload.cards).map((it) => card(it, choose)))
  : (payload.title || payload.buttons) && card(payload, choose);

/**
 * @param {Choice[]} some
 * @param {Act} choose
 */
export const quickReplies = (some, choose) => el(
  'div.replies',
  { dir: 'auto' },
  buttons(some, 'reply', choose),
);

/**
 * @param {string} title
 * @param {Choice[]} actions
 * @param {(text: string, payload?: Payload) => void} send
 */
export const menu = (title, actions, send) => el(
  'details.menu',
  {},
  el('summary', {}, title),
  el('div', { dir: 'auto' }, buttons(
    actions,
    'action',
    (label, value, type) => {
      if (type === 'operator') send(label, { handover: true, team: value });
      else send(value ?? label);
    },
  )),
);
