// The field in which the visitor writes, and the send button.

import { el, icon } from '../../shared/dom.js';
import { say } from '../words.js';

const HEIGHT_MAX = 120; // px; a longer text scrolls

/**
 * @param {{send: (text: string) => boolean, typed: (text: string) => void, draft: string,
 *   drafted: (text: string) => void, attach: (files: File[], type: string) => void,
 *   hasFiles: () => boolean}} on `draft` is in the field at first, `drafted` is called with each
 *   change of the field
 */
export function composer(on) {
  const text = el('textarea', { rows: 1, dir: 'auto', input, keydown });
  const send = el('button.icon-button.send', { click: submit }, icon('up'));
  const files = el('input', { type: 'file', multiple: true, hidden: true, change });
  const clip = el('button.icon-button', { click: () => files.click() }, icon('clip'));
  const root = el('div.compose', {}, files, clip, text, send);
  text.value = on.draft;

  function speak() {
    clip.ariaLabel = clip.title = say('attach');
    send.ariaLabel = send.title = say('send');
    text.ariaLabel = say('message');
    text.placeholder = say('write');
  }

  function submit() {
    const words = text.value.trim();
    if ((words || on.hasFiles()) && on.send(words)) { text.value = ''; fit(); }
    text.focus();
  }

  function change() {
    on.attach([...files.files ?? []], '');
    files.value = '';
  }

  function fit() {
    text.style.height = 'auto';
    text.style.height = `${Math.min(text.scrollHeight, HEIGHT_MAX)}px`;
    send.disabled = !text.value.trim() && !on.hasFiles();
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

  return { root, text, clip, fit, speak, write };
}
