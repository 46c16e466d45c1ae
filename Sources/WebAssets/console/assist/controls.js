// The buttons below the reply: a suggested reply, a translation of the draft, stop and undo.

import { el, icon } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';

/** The languages that are offered besides the visitor's. */
const LANGUAGES = ['en', 'de', 'es', 'th', 'ar', 'ja'];

/** @param {string} code a language tag */
export function languageName(code) {
  try {
    return new Intl.DisplayNames(locale, { type: 'language' }).of(code) ?? code;
  } catch { return code; } // a browser's tag that is none
}

/**
 * @param {string} words
 * @param {() => void} click
 * @param {Node} look
 */
const button = (words, click, look) => el(
  'button.button.quiet.assist',
  { type: 'button', 'aria-label': words, title: words, click },
  look,
  el('span', {}, words),
);

/**
 * @param {AssistUse[]} uses
 * @param {{suggest: () => void, translate: (language: string) => void, stop: () => void,
 *   undo: () => void, visitorLanguage: () => string}} on
 */
export function controls(uses, on) {
  const suggest = button(t('Suggest a reply'), on.suggest, icon('spark'));
  const stop = button(t('Stop'), on.stop, icon('x'));
  const undo = button(t('Undo'), on.undo, icon('back'));
  const { root: translate, close } = languageMenu(on);
  const status = el('span.sr-only', { role: 'status' });
  const root = el(
    'span.assists',
    {},
    uses.includes('suggest') && suggest,
    uses.includes('translate') && translate,
    stop,
    undo,
    status,
  );
  return {
    root,
    close,
    /** @param {{busy: boolean, canUndo: boolean, words: string}} now */
    show({ busy, canUndo, words }) {
      suggest.hidden = translate.hidden = busy;
      stop.hidden = !busy;
      undo.hidden = busy || !canUndo;
      status.textContent = words;
    },
  };
}

/** @param {{translate: (language: string) => void, visitorLanguage: () => string}} on */
function languageMenu(on) {
  const list = el('div.pop.menu-list.languages', { role: 'menu', id: 'languages', hidden: true });
  /** @type {HTMLElement} */
  const opener = el('button.button.quiet.assist', {
    type: 'button',
    'aria-label': t('Translate'),
    title: t('Translate'),
    'aria-haspopup': 'menu',
    'aria-expanded': 'false',
    'aria-controls': 'languages',
    click: () => show(list.hidden),
  }, icon('globe'), el('span', {}, t('Translate')));
  /** @param {boolean} isOpen */
  function show(isOpen) {
    if (isOpen) list.replaceChildren(...items());
    list.hidden = !isOpen;
    opener.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) list.querySelector('button')?.focus();
  }
  const items = () => {
    const own = on.visitorLanguage();
    const others = LANGUAGES.filter((code) => code !== own.split('-')[0]);
    return [...own ? [own] : [], ...others].map((code) => el(
      'button',
      {
        type: 'button',
        role: 'menuitem',
        tabindex: -1,
        click: () => { show(false); on.translate(code); },
      },
      el('span', {}, languageName(code)),
      code === own && el('span.meta', {}, t('visitor’s')),
    ));
  };
  /** @type {HTMLElement} */
  const root = el('span.anchor', {
    focusout: ({ relatedTarget: to }) => {
      if (!(to instanceof Node && root.contains(to))) show(false);
    },
    keydown: (event) => {
      if (list.hidden) return;
      const all = [...list.querySelectorAll('button')];
      const at = all.findIndex((item) => item === document.activeElement);
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (step) all[(at + step + all.length) % all.length].focus();
      else if (event.key === 'Escape') { show(false); opener.focus(); } else return;
      event.preventDefault();
      event.stopPropagation();
    },
  }, opener, list);
  return { root, close: () => show(false) };
}
