// Buttons, cards and quick replies of a message, as the visitor sees them but without effect. Links
// show their whole address and open a new tab. Pictures are not loaded: their server would learn
// when an operator reads the conversation.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';

const BUTTONS_MAX = 12;
const CARDS_MAX = 10;
const TEXT_MAX = 500; // characters

/**
 * The URL if its scheme is safe, else ''. `javascript:` is not.
 * @param {unknown} value
 */
export function safeLink(value) {
  try {
    const url = new URL(String(value));
    return ['https:', 'http:', 'mailto:', 'tel:'].includes(url.protocol) ? url.href : '';
  } catch { return ''; }
}

/**
 * @param {{key?: string, payload?: Payload}} model
 * @returns {Element?}
 */
export function extra({ key, payload }) {
  if (!payload || typeof payload !== 'object') return null;
  // `MailLine` adds who has written it.
  if (payload.email) return el('p.by-mail', { 'data-id': key }, t('By e-mail'));
  // What a person sent on a channel, such as a picture, that the platform did not give.
  if (typeof payload.missing === 'string') {
    return el('p.missing', {}, t('The file could not be fetched. {}', payload.missing));
  }
  const cards = list(payload.cards).slice(0, CARDS_MAX);
  if (cards.length) return el('div.cards', {}, ...cards.map((one) => card(one)));
  if (payload.title) return card(payload);
  const buttons = [...list(payload.buttons), ...list(payload.quick_replies)].slice(0, BUTTONS_MAX);
  if (!buttons.length) return null;
  return el('div.choices', { 'aria-label': t('Buttons'), role: 'group' }, ...buttons.map(button));
}

/**
 * The files of a message, with the mark of one that came by e-mail.
 * @param {import('../../shared/dom.js').Child} files
 * @param {{key?: string, payload?: Payload}} model
 */
export function withMark(files, model) {
  const mark = model.payload?.email && extra(model);
  if (!mark) return files;
  const both = document.createDocumentFragment();
  both.append(...(files ? [files] : []), mark);
  return both;
}

/**
 * The text of the bubble: '' if the cards show it.
 * @param {{body: string, payload?: Payload}} model
 */
export const bubbleText = ({ body, payload }) => (
  list(payload?.cards).length || payload?.title || payload?.caption === false ? '' : body
);

/**
 * @template {object} T
 * @param {T[] | undefined} value of any type in fact
 * @returns {T[]}
 */
const list = (value) => (
  Array.isArray(value) ? value.filter((one) => one && typeof one === 'object') : []
);

/** @param {unknown} value */
const text = (value) => (typeof value === 'string' ? value.slice(0, TEXT_MAX) : '');

/** @param {Card} card */
function card({ title, text: words, image_url: image, buttons }) {
  const source = safeLink(image);
  return el(
    'div.card',
    {},
    source && el(
      'p.meta.truncate',
      {},
      icon('ext', 'small'),
      el('a', { href: source, target: '_blank', rel: 'noopener noreferrer' }, t('Image')),
    ),
    el('b', { dir: 'auto' }, text(title)),
    text(words) && el('p', { dir: 'auto' }, text(words)),
    el('div.choices', {}, ...list(buttons).slice(0, BUTTONS_MAX).map(button)),
  );
}

/** @param {Choice} choice */
function button({ label, type, value }) {
  const link = type === 'url' ? safeLink(value) : '';
  if (!link) return el('span.chip', { dir: 'auto' }, text(label));
  return el(
    'a.chip',
    { href: link, target: '_blank', rel: 'noopener noreferrer', title: link },
    text(label),
  );
}
