// The choice of the console's language: on the login page, and among the operator's own settings.

import { el, icon } from '../../shared/dom.js';
import { choose, chosen, LANGUAGE_NAMES, t } from './language.js';

export function languageChoice() {
  /** @type {HTMLSelectElement} */
  const select = el(
    'select.input',
    { 'aria-label': t('Language'), change: () => choose(select.value) },
    el('option', { value: '' }, t('Language of the browser')),
    ...Object.entries(LANGUAGE_NAMES).map(([value, name]) => (
      el('option', { value, lang: value, selected: value === chosen }, name))),
  );
  return el('label.language', {}, icon('globe'), select);
}
