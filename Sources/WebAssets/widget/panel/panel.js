// The widget's panel as elements: head, log, status line, composer, forms, menu. It keeps no state
// of the conversation.

import { el, icon } from '../../shared/dom.js';
import { direction, language, say } from '../words.js';

/** The mark. The loader has its shape. */
export const swift = () => el('i.swift');

/**
 * @param {{closed: () => void, send: (text: string) => boolean, typed: (text: string) => void,
 *   transcript: () => void, renew: () => void, mute: () => void}} on
 */
export function panel(on) {
  const tool = (name, click) => el('button.icon-button', { click }, icon(name));
  const name = el('h2', { id: 'name' });
  const about = el('p');
  const mark = el('div.mark');
  const mute = tool('bell', on.mute);
  const transcript = tool('save', on.transcript);
  const close = tool('x', () => root.close());
  const log = el('div.log', { role: 'log', tabindex: 0 });
  const line = el('p.status', { role: 'status', hidden: true });
  const text = el('textarea', { rows: 1, dir: 'auto', input, keydown });
  const send = el('button.icon-button.send', { click: submit }, icon('up'));
  const form = el('div.compose', {}, text, send);
  const again = el('button.again', { click: on.renew });
  const page = el('div.pages');
  const menu = el('div');
  const root = el(
    'dialog.panel',
    { 'aria-labelledby': 'name', keydown: keys, close: on.closed },
    el('header.head', {}, mark, el('div.who', {}, name, about), mute, transcript, close),
    log,
    page,
    line,
    form,
    again,
    el('p.foot', {}, 'Chirrup'),
    menu,
  );

  /** Everything that is said whatever happens. */
  function speak() {
    for (const [node, word] of [
      [mute, 'mute'],
      [transcript, 'transcript'],
      [close, 'close'],
      [send, 'send'],
    ]) node.ariaLabel = node.title = say(word);
    log.ariaLabel = say('log');
    text.ariaLabel = say('message');
    text.placeholder = say('write');
    again.textContent = say('again');
    root.lang = language;
    root.dir = direction();
  }

  function submit() {
    if (text.value.trim() && on.send(text.value.trim())) { text.value = ''; fit(); }
    text.focus();
  }

  function fit() {
    text.style.height = 'auto';
    text.style.height = `${Math.min(text.scrollHeight, 120)}px`;
    send.disabled = !text.value.trim();
  }

  function input() { fit(); on.typed(text.value); }

  function keydown(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  }

  function keys(event) {
    event.stopPropagation(); // the page's own shortcuts are not meant
    if (event.key === 'Escape') root.close();
  }

  /** Something to be written anew, before what already stands there. */
  function write(words) {
    text.value = [words, text.value].filter(Boolean).join('\n');
    fit();
    text.focus();
  }

  new ResizeObserver(fit).observe(log);
  return { speak, write, root, name, about, mark, log, line, text, form, again, page, menu, mute,
    transcript };
}
