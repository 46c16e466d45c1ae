// The widget's panel as elements: head, log, status line, composer. It keeps no state of the
// conversation.

import { el, icon } from '../shared/dom.js';

/**
 * @param {{close: () => void, send: (text: string) => boolean, typed: (text: string) => void}} on
 */
export function panel(on) {
  const name = el('h2.truncate', { id: 'name' });
  const about = el('p');
  const mark = el('div.mark', {}, icon('swift'));
  const log = el('div.log', {
    role: 'log',
    'aria-label': 'Conversation',
    'aria-relevant': 'additions',
    tabindex: 0,
  });
  const status = el('p.status', { role: 'status', hidden: true });
  const text = el('textarea', {
    rows: 1,
    placeholder: 'Write a message',
    'aria-label': 'Message',
    dir: 'auto',
    enterkeyhint: 'send',
  });
  const send = el('button.icon-button.send', { 'aria-label': 'Send', disabled: true }, icon('up'));
  const form = el(
    'form.compose',
    { submit: (event) => { event.preventDefault(); submit(); } },
    text,
    send,
  );
  const again = el('button.again', { hidden: true }, 'Start a new conversation');
  const root = el(
    'section.panel',
    { role: 'dialog', 'aria-labelledby': 'name', keydown: keys, hidden: true },
    el(
      'header.head',
      {},
      mark,
      el('div.who', {}, name, about),
      el('button.icon-button', { 'aria-label': 'Close chat', click: on.close }, icon('x')),
    ),
    log,
    status,
    form,
    again,
    el('p.foot', {}, icon('swift'), 'Chirrup'),
  );

  function submit() {
    if (text.value.trim() && on.send(text.value.trim())) { text.value = ''; fit(); }
    text.focus();
  }

  function fit() {
    text.style.height = 'auto';
    text.style.height = `${Math.min(text.scrollHeight, 120)}px`;
    send.disabled = !text.value.trim();
  }

  addEventListener('resize', fit);
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
    if (event.key !== 'Tab' || root.getAttribute('aria-modal') !== 'true') return;
    const stops = [...root.querySelectorAll('button:not([disabled]), textarea, [tabindex]')].filter(
      (stop) => stop.offsetParent
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

  return { write, root, name, about, mark, log, status, text, form, again };
}
