// The form after a login with a password that an administrator has given or that is easy to guess.
// Until it is changed, the gateway refuses every other request.

import { el, icon } from '../../shared/dom.js';
import { api, reasonOf, statusOf } from './api.js';
import { t } from './language.js';

/** Characters of the shortest password, as the gateway demands. */
export const PASSWORD_MIN = 10;

/**
 * A password field.
 * @param {string} id
 * @param {string} label
 * @param {string} autocomplete
 * @param {() => void} input
 */
function secret(id, label, autocomplete, input) {
  const control = el('input.input', {
    id,
    type: 'password',
    autocomplete,
    required: true,
    maxlength: 1024,
    'aria-describedby': 'problem',
    input,
  });
  return { control, root: el('div.field', {}, el('label', { for: id }, label), control) };
}

/**
 * Why a new password cannot be taken, and the field that is wrong.
 * @param {string} old
 * @param {string} fresh
 * @param {string} again
 * @returns {{field: 'current' | 'fresh' | 'again', words: string} | null}
 */
function faultOf(old, fresh, again) {
  if (!old) return { field: 'current', words: t('Enter your current password.') };
  if ([...fresh].length < PASSWORD_MIN) {
    return { field: 'fresh', words: t('Use at least {} characters.', PASSWORD_MIN) };
  }
  if (fresh === old) return { field: 'fresh', words: t('Choose a password that is not your current one.') };
  return fresh === again ? null : { field: 'again', words: t('The passwords do not match.') };
}

/**
 * @param {string} given the password of this login, or '' after a reload
 * @param {() => Promise<void>} done
 * @param {(notice: string) => void} leave
 */
export function choosePassword(given, done, leave) {
  const problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  const clear = () => complain(null, '');
  const current = secret('current', t('Current password'), 'current-password', clear);
  const fresh = secret('new', t('New password'), 'new-password', clear);
  const again = secret('again', t('Repeat new password'), 'new-password', clear);
  const controls = [current.control, fresh.control, again.control];
  const button = el('button.button.primary', { type: 'submit' }, t('Change password'));
  let busy = false;

  /**
   * @param {HTMLInputElement?} control that gets the focus
   * @param {string} words '' for none
   */
  function complain(control, words) {
    problem.hidden = !words;
    if (words) problem.replaceChildren(icon('alert', 'small'), el('span', {}, words));
    for (const each of controls) each.setAttribute('aria-invalid', String(each === control));
    control?.focus();
  }

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    if (busy) return;
    const old = given || current.control.value;
    const { value } = fresh.control;
    const fault = faultOf(old, value, again.control.value);
    if (fault) return complain({ current, fresh, again }[fault.field].control, fault.words);
    busy = true;
    button.setAttribute('aria-disabled', 'true');
    try {
      await api.password(old, value);
      await done();
    } catch (error) {
      if (statusOf(error) === 401) return leave(t('Your session ended. Log in again.'));
      complain(fresh.control, reasonOf(
        error,
        t('The server is not responding. Check your connection and try again.'),
      ));
    }
    busy = false;
    button.removeAttribute('aria-disabled');
  }

  const root = el(
    'main.gate',
    {},
    el(
      'form.login',
      { 'aria-labelledby': 'own-title', submit, novalidate: true },
      el('span.logo', {}, icon('swift')),
      el('h1', { id: 'own-title' }, t('Choose your password')),
      el('p.hint', {}, t('Someone else knows your password, or it is easy to guess. Use at least {} characters; a sentence works well.', PASSWORD_MIN)),
      !given && current.root,
      fresh.root,
      again.root,
      problem,
      button,
      el('button.button.quiet', {
        type: 'button',
        click: () => leave(t('You are logged out.')),
      }, t('Log out')),
    ),
  );
  return { root, focus: () => (given ? fresh : current).control.focus() };
}
