// The first login with a password that somebody else has given: nothing else can be done before it
// is changed.

import { el, icon } from '../../shared/dom.js';
import { api } from './api.js';

/** Characters of the shortest password; the gateway refuses shorter ones, too. */
export const LEAST = 10;

/**
 * A field for a password.
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
 * @param {string} given the password of this login, or '' after a reload
 * @param {() => Promise<void>} done
 * @param {(told: string) => void} leave
 */
export function choosePassword(given, done, leave) {
  const problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  const calm = () => complain(null, '');
  const current = secret('current', 'Current password', 'current-password', calm);
  const fresh = secret('new', 'New password', 'new-password', calm);
  const again = secret('again', 'Repeat new password', 'new-password', calm);
  const controls = [current.control, fresh.control, again.control];
  const button = el('button.button.primary', { type: 'submit' }, 'Change password');
  let busy = false;

  function complain(control, words) {
    problem.hidden = !words;
    if (words) problem.replaceChildren(icon('alert', 'small'), el('span', {}, words));
    for (const each of controls) each.setAttribute('aria-invalid', String(each === control));
    control?.focus();
  }

  async function submit(event) {
    event.preventDefault();
    if (busy) return;
    const old = given || current.control.value;
    const { value } = fresh.control;
    if (!old) return complain(current.control, 'Enter the password you were given.');
    if ([...value].length < LEAST) return complain(fresh.control, `Use at least ${LEAST} characters.`);
    if (value === old) return complain(fresh.control, 'Choose a password that is not the one you were given.');
    if (value !== again.control.value) {
      return complain(again.control, 'The passwords do not match.');
    }
    busy = true;
    button.setAttribute('aria-disabled', 'true');
    try {
      await api.password(old, value);
      await done();
    } catch (error) {
      if (error.status === 401) return leave('Your session ended. Log in again.');
      complain(fresh.control, error.status ? error.message
        : 'The server is not responding. Check your connection and try again.');
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
      el('h1', { id: 'own-title' }, 'Choose your password'),
      el('p.hint', {}, 'Someone else knows the password you were given. '
        + `Use at least ${LEAST} characters; a sentence works well.`),
      !given && current.root,
      fresh.root,
      again.root,
      problem,
      button,
      el('button.button.quiet', {
        type: 'button',
        click: () => leave('You are logged out.'),
      }, 'Log out'),
    ),
  );
  return { root, focus: () => (given ? fresh : current).control.focus() };
}
