// “Try it”: one small request to the saved endpoint, and its result in words.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';

/**
 * @param {Rest} rest
 * @param {{changes: string[], onChange: (act: () => void) => void}} form unsaved values cannot be
 *   tried
 * @param {boolean} isSaved whether there is an endpoint
 */
export function assistTrial(rest, form, isSaved) {
  const result = el('p.hint', { role: 'status' });
  const button = /** @type {HTMLButtonElement} */ (
    el('button.button', { type: 'button' }, icon('spark', 'small'), t('Try it')));
  let known = isSaved;
  let running = false;
  const show = () => {
    const isChanged = form.changes.length > 0;
    button.disabled = running || !known || isChanged;
    if (!running && (!known || isChanged)) {
      result.textContent = t('Save first. Then try the endpoint.');
    }
  };
  button.onclick = async () => {
    running = true;
    show();
    result.textContent = t('Waiting for the endpoint');
    try {
      const { detail, answer } = await rest.post('assist/trial');
      result.textContent = answer ? `${detail} “${answer}”` : detail;
    } catch (error) {
      result.textContent = sentence(error);
    }
    running = false;
    show();
  };
  form.onChange(show);
  show();
  return {
    root: el('div.field', {}, el('div', {}, button), result),
    /** @param {boolean} isThere whether an endpoint is saved now */
    saved(isThere) {
      known = isThere;
      result.textContent = '';
      show();
    },
  };
}
