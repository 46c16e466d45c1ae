// The operator's second factor: an app or passkeys, new recovery codes, and their removal.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { api, reasonOf } from '../shell/api.js';
import { enrolment, recoveryCodes } from '../shell/enrolment.js';
import { passkeyList } from './passkey-list.js';
import { SILENCE, passwordField, prompt } from './prompt.js';

/** @type {import('./prompt.js').Field} */
const CODE = ['code', t('Code of the app, or a recovery code'), {
  autocomplete: 'one-time-code', maxlength: 64 }];

/**
 * The panels of the page “Security”: the app and the recovery codes, and the passkeys.
 * @param {() => void} changed is called after a change, which may have ended other sessions
 */
export function secondFactor(changed) {
  const chip = el('span.chip');
  const words = el('p');
  const body = el('div.step');
  const passkeys = passkeyList(async () => {
    await load();
    changed();
  });
  const heading = el('h2', { id: 'factor', tabindex: -1 }, t('Two-factor login'), ' ', chip);

  async function load() {
    try {
      draw(await api.secondFactor());
    } catch (error) {
      words.textContent = reasonOf(error, SILENCE);
    }
  }

  async function again() {
    await load();
    changed();
    heading.focus();
  }

  /** @param {HTMLElement} step */
  function open(step) {
    body.replaceChildren(step);
    step.querySelector('input')?.focus();
  }

  /** @param {SecondFactor} state */
  function draw(state) {
    const { enabled, app, recovery_codes_left: left, required, passkeys: known } = state;
    const password = passwordField(state.has_password);
    const isLast = app && !known.length;
    passkeys.show(state);
    chip.textContent = enabled ? t('On') : t('Off');
    const how = !known.length
      ? t('After your password or single sign-on you enter a code from an app.')
      : app ? t('After your password or single sign-on you use a passkey, or enter a code from an app.')
      : t('After your password or single sign-on you use a passkey.');
    const more = enabled ? t('Recovery codes left: {}.', left)
      : required ? t('Your workspace requires it at your next login.') : '';
    words.textContent = `${how} ${more}`.trim();
    /** @type {(verb: string, click: () => void) => HTMLElement} */
    const act = (verb, click) => el('button.button', { type: 'button', click }, verb);
    const enrol = () => open(enrolment({ done: again }).root);
    const renew = () => open(prompt(password, t('Replace'), async (values) => {
      const { recovery_codes: codes } = await api.newRecoveryCodes(values.password);
      body.replaceChildren(recoveryCodes(codes, again));
    }, again));
    const remove = () => open(prompt([...password, CODE], t('Turn off'), async (values) => {
      await api.removeSecondFactor(values.password, values.code);
      await again();
    }, again));
    body.replaceChildren(el('div.acts', {},
      act(app ? t('Use another app') : t('Set up'), enrol),
      enabled && act(t('New recovery codes'), renew),
      app && !(required && isLast) && act(t('Turn off'), remove)));
  }

  return {
    roots: [el('section.panel', { 'aria-labelledby': 'factor' }, heading, words, body), passkeys.root],
    load,
  };
}
