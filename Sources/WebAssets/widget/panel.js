// The widget's panel as elements: head, log, status line, composer, forms, menu. It keeps no state
// of the conversation.

import { el, icon } from '../shared/dom.js';
import { Word } from './wordlist.js';
import { direction, language, say } from './words.js';

/** The mark. The loader has its shape. */
export const swift = () => el('i.swift');

/**
 * @param {{close: () => void, send: (text: string) => boolean, typed: (text: string) => void,
 *   transcript: () => void, renew: () => void}} on
 */
export function panel(on) {
  const tool = (name, click) => el('button.icon-button', { type: 'button', click }, icon(name));
  const name = el('h2.truncate', { id: 'name' });
  const about = el('p');
  const mark = el('div.mark', {}, swift());
  const transcript = tool('save', on.transcript);
  const close = tool('x', on.close);
  const log = el('div.log', { role: 'log', 'aria-relevant': 'additions', tabindex: 0 });
  const status = el('p.status', { role: 'status', hidden: true });
  const text = el('textarea', { rows: 1, dir: 'auto', enterkeyhint: 'send' });
  const send = el('button.icon-button.send', { disabled: true }, icon('up'));
  const form = el(
    'form.compose',
    { submit: (event) => { event.preventDefault(); submit(); } },
    text,
    send,
  );
  const again = el('button.again', { hidden: true, click: on.renew });
  const page = el('div.pages', { hidden: true });
  const menu = el('div');
  const root = el(
    'section.panel',
    { role: 'dialog', 'aria-labelledby': 'name', keydown: keys, hidden: true },
    el('header.head', {}, mark, el('div.who', {}, name, about), transcript, close),
    log,
    page,
    status,
    form,
    again,
    el('p.foot', {}, swift(), 'Chirrup'),
    menu,
  );

  /** Everything that is said whatever happens. */
  function speak() {
    for (const [node, word] of [
      [transcript, Word.transcript],
      [close, Word.close],
      [log, Word.log],
      [text, Word.message],
      [send, Word.send],
    ]) node.ariaLabel = node.title = say(word);
    log.title = text.title = '';
    text.placeholder = say(Word.write);
    again.textContent = say(Word.again);
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

  new ResizeObserver(fit).observe(log);
  text.addEventListener('input', () => { fit(); on.typed(text.value); });
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  });

  /** Escape leaves; full screen is modal, so Tab stays inside. */
  function keys(event) {
    event.stopPropagation(); // the page's own shortcuts are not meant
    if (event.key === 'Escape') return on.close();
    if (event.key !== 'Tab' || root.ariaModal !== 'true') return;
    const all = 'button, input, select, textarea, summary, a, [tabindex]';
    const stops = [...root.querySelectorAll(all)].filter(
      (stop) => stop.offsetParent && !stop.disabled
    );
    const edge = event.shiftKey ? stops[0] : stops.at(-1);
    if (event.target !== edge) return;
    event.preventDefault();
    (event.shiftKey ? stops.at(-1) : stops[0]).focus();
  }

  /** Something to be written anew, before what already stands there. */
  function write(words) {
    text.value = [words, text.value].filter(Boolean).join('\n');
    fit();
    text.focus();
  }

  return { speak, write, root, name, about, mark, log, status, text, form, again, page, menu,
    transcript };
}
