// The field in which the visitor writes, and the send button.

import { el, icon } from '../../shared/dom.js';
import { say } from '../words.js';

const HEIGHT_MAX = 120; // px; a longer text scrolls

/**
 * @param {{send: (text: string) => boolean, typed: (text: string) => void, draft: string,
 *   drafted: (text: string) => void}} on `draft` is in the field at first, `drafted` is called with
 *   each change of the field
 */
export function composer(on) {
  const text = el('textarea', { rows: 1, dir: 'auto', input, keydown });
  const send = el('button.icon-button.send', { click: submit }, icon('up'));
  const root = el('div.compose', {}, text, send);
  text.value = on.draft;

  function speak() {
    send.ariaLabel = send.title = say('send');
    text.ariaLabel = say('message');
    text.placeholder = say('write');
  }

  function submit() {
    if (text.value.trim() && on.send(text.value.trim())) { text.value = ''; fit(); }
    text.focus();
  }

  function fit() {
    text.style.height = 'auto';
    text.style.height = `${Math.min(text.scrollHeight, HEIGHT_MAX)}px`;
    send.disabled = !text.value.trim();
    on.drafted(text.value);
  }

  function input() { fit(); on.typed(text.value); }

  /** @param {KeyboardEvent} event */
  function keydown(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  }

  /**
   * Puts a text that is to be changed before the text in the field.
   * @param {string} words
   */
  function write(words) {
    text.value = [words, text.value].filter(Boolean).join('\n');
    fit();
    text.focus();
  }

  return { root, text, fit, speak, write };
}
