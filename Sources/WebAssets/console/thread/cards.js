// What a bot sent besides words, as the visitor sees it but without effect: buttons, cards and quick
// replies. Addresses of others are shown whole and open in a page of their own; pictures are not
// loaded from foreign servers, who would learn which operator reads when.

import { el, icon } from '../../shared/dom.js';

const BUTTONS = 12;
const CARDS = 10;

/** Only these lead anywhere; `javascript:` and the like stay text. @param {any} value */
export function safeLink(value) {
  try {
    const url = new URL(String(value));
    return ['https:', 'http:', 'mailto:', 'tel:'].includes(url.protocol) ? url.href : '';
  } catch { return ''; }
}

/** @param {{payload?: any}} model @returns {Element?} */
export function extra({ payload }) {
  if (!payload || typeof payload !== 'object') return null;
  const cards = list(payload.cards).slice(0, CARDS);
  if (cards.length) return el('div.cards', {}, ...cards.map((one) => card(one)));
  if (payload.title) return card(payload);
  const buttons = [...list(payload.buttons), ...list(payload.quick_replies)].slice(0, BUTTONS);
  if (!buttons.length) return null;
  return el('div.choices', { 'aria-label': 'Buttons', role: 'group' }, ...buttons.map(button));
}

const list = (value) => (
  Array.isArray(value) ? value.filter((one) => one && typeof one === 'object') : []
);
const text = (value) => (typeof value === 'string' ? value.slice(0, 500) : '');

function card({ title, text: words, image_url: image, buttons }) {
  const source = safeLink(image);
  return el(
    'div.card',
    {},
    source && el(
      'p.meta.truncate',
      {},
      icon('ext', 'small'),
      el('a', { href: source, target: '_blank', rel: 'noopener noreferrer' }, 'Image'),
    ),
    el('b', { dir: 'auto' }, text(title)),
    text(words) && el('p', { dir: 'auto' }, text(words)),
    el('div.choices', {}, ...list(buttons).slice(0, BUTTONS).map(button)),
  );
}

function button({ label, type, value }) {
  const link = type === 'url' ? safeLink(value) : '';
  if (!link) return el('span.chip', { dir: 'auto' }, text(label));
  return el(
    'a.chip',
    { href: link, target: '_blank', rel: 'noopener noreferrer', title: link },
    text(label),
  );
}
