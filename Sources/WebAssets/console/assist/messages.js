// A translation below a received message, when the operator asks for it.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';

/**
 * Adds a button to each received message of the log, also to later ones.
 * @param {HTMLElement} log
 * @param {(text: string, show: (text: string) => void) => Promise<boolean>} translate gives the
 *   translation so far to `show`, and returns whether it is complete
 */
export function translatable(log, translate) {
  const add = () => {
    for (const say of log.querySelectorAll('.say.in')) {
      const bubble = say.querySelector('.bubble');
      const state = say.querySelector('.state');
      if (bubble?.textContent && state && !say.querySelector('.translate')) {
        state.before(control(bubble.textContent, translate));
      }
    }
  };
  new MutationObserver(add).observe(log, { childList: true });
  add();
}

/**
 * @param {string} text
 * @param {(text: string, show: (text: string) => void) => Promise<boolean>} translate
 */
function control(text, translate) {
  const shown = el('p.translation', { dir: 'auto', hidden: true, 'aria-label': t('Translation') });
  const button = el('button.link', { type: 'button' }, t('Translate'));
  button.onclick = async () => {
    button.disabled = true;
    shown.textContent = '';
    const isComplete = await translate(text, (words) => {
      shown.hidden = false;
      shown.textContent = words;
    });
    button.disabled = false;
    if (!isComplete) shown.hidden = !shown.textContent;
    button.hidden = isComplete;
  };
  return el('div.translate', {}, shown, button);
}
