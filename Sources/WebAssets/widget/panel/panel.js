// The elements of the widget's panel: head, log, status line, composer, forms, menu. They hold no
// state of the conversation.

import { el, icon, paths } from '../../shared/dom.js';
import { takeFiles } from '../../shared/take-files.js';
import { direction, language, say } from '../words.js';
import { composer } from './composer.js';

Object.assign(paths, {
  save: 'M10 3v9M6 8l4 4 4-4M4 16h12',
  bell: 'M4 15h12l-2-3V8a4 4 0 0 0-8 0v4zM9 17h2',
  clip: 'M15.5 9.5l-5.7 5.7a3.3 3.3 0 0 1-4.7-4.7l6-6a2.2 2.2 0 0 1 3.1 3.1l-6 6a1 1 0 0 1-1.5-1.5l5-5',
});

/** The logo; the loader's style sheet has its shape. */
export const swift = () => el('i.swift');

/**
 * @param {string} name of an icon
 * @param {() => void} click
 */
const tool = (name, click) => el('button.icon-button', { click }, icon(name));

/** @typedef {ReturnType<typeof panel>} Panel */

/**
 * @param {{closed: () => void, send: (text: string) => boolean, typed: (text: string) => void,
 *   draft: string, drafted: (text: string) => void, toEnd: () => void, transcript: () => void,
 *   renew: () => void, mute: () => void, attach: (files: File[], type: string) => void,
 *   hasFiles: () => boolean}} on
 */
export function panel(on) {
  const name = el('h2', { id: 'name' });
  const about = el('p');
  const mark = el('div.mark');
  const mute = tool('bell', on.mute);
  const transcript = tool('save', on.transcript);
  const close = tool('x', () => { root.close(); });
  const log = el('div.log', { role: 'log', tabindex: 0 });
  const news = el('button.news', { hidden: true, click: on.toEnd });
  const line = el('p.status', { role: 'status', hidden: true });
  const { root: form, text, clip, fit, speak: speakComposer, write } = composer(on);
  const again = el('button.again', { click: on.renew });
  const page = el('div.pages');
  const menu = el('div');
  const root = el(
    'dialog.panel',
    { 'aria-labelledby': 'name', keydown, close: on.closed },
    el('div.head', {}, mark, el('div.who', {}, name, about), mute, transcript, close),
    log,
    news,
    page,
    line,
    form,
    again,
    el('p.foot', {}, 'Chirrup'),
    menu,
  );

  /** Sets the texts that do not depend on the state. */
  function speak() {
    mute.ariaLabel = mute.title = say('mute');
    transcript.ariaLabel = transcript.title = say('transcript');
    close.ariaLabel = close.title = say('close');
    log.ariaLabel = say('log');
    news.replaceChildren(icon('down'), say('news'));
    again.textContent = say('again');
    speakComposer();
    root.lang = language;
    root.dir = direction();
  }

  /** @param {KeyboardEvent} event */
  function keydown(event) {
    event.stopPropagation(); // keeps keys from the page's own shortcuts
    if (event.key !== 'Escape') return;
    event.preventDefault(); // else a dialog of the page would close too
    root.close();
  }

  new ResizeObserver(fit).observe(log);
  takeFiles(root, on.attach);
  return { speak, write, root, name, about, mark, log, news, line, text, form, again, page, menu,
    mute, transcript, clip, fit };
}
