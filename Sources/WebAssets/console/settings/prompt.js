// A small form that asks for secrets before a change of how the operator logs in.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { Problem, reasonOf } from '../shell/api.js';

export const SILENCE = t('The server is not responding. Check your connection and try again.');

/** @type {Field} */
const PASSWORD = ['password', t('Your password'), {
  type: 'password', autocomplete: 'current-password', maxlength: 1024 }];

/**
 * The password, if the account has one. Members who log in with single sign-on may have none.
 * @param {boolean} isNeeded
 */
export const passwordField = (isNeeded) => (isNeeded ? [PASSWORD] : []);

/** @param {unknown} error */
const reason = (error) => reasonOf(error, SILENCE);

/**
 * @typedef {[name: string, label: string, more: Record<string, unknown>]} Field
 * @param {Field[]} fields none: only a confirmation
 * @param {string} verb
 * @param {(values: Record<string, string>) => Promise<void>} work with the values by name
 * @param {() => void} cancel
 * @param {(error: unknown) => string} words about a refusal
 */
export function prompt(fields, verb, work, cancel, words = reason) {
  const problem = el('p.error', { id: 'factor-problem', role: 'alert', hidden: true });
  const controls = fields.map(([name, , more]) => el('input.input', {
    id: `factor-${name}`, name, required: true, 'aria-describedby': 'factor-problem', ...more }));
  const button = el('button.button.primary', { type: 'submit' }, verb);
  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const empty = controls.find(({ value }) => !value.trim());
    if (empty) return empty.focus();
    button.disabled = true;
    try {
      await work(Object.fromEntries(controls.map(({ name, value }) => [name, value.trim()])));
    } catch (error) {
      problem.hidden = false;
      problem.replaceChildren(icon('alert', 'small'), el('span', {}, words(error)));
      const code = error instanceof Problem ? error.code : '';
      const index = code === 'wrong_code' ? controls.length - 1
        : code === 'wrong_password' ? fields.indexOf(PASSWORD) : 0;
      (controls[index] ?? controls[0] ?? button).focus();
    }
    button.disabled = false;
  }
  return el('form.step', { submit, novalidate: true },
    ...fields.map(([name, label], index) => el('div.field', {},
      el('label', { for: `factor-${name}` }, label), controls[index])),
    problem,
    el('div.acts', {}, button,
      el('button.button.quiet', { type: 'button', click: cancel }, t('Cancel'))));
}
