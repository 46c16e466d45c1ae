// The form for a forgotten password. The gateway's answer is the same whether there is such an
// account, and so are the words here.

import { el, icon } from '../../shared/dom.js';
import { api, reasonOf } from './api.js';
import { t } from './language.js';

/** @param {string} address for which a link was requested */
const answer = (address) => [
  el('p', { role: 'status' }, t('If there is an account for {}, a link for a new password is on its way there.', address)),
  el('p.hint', {}, t('The link counts once, for 30 minutes. If nothing comes, look in the spam folder, or ask an administrator of your workspace.')),
];

/**
 * @param {string} known the address of the login form
 * @param {() => void} back to the login
 */
export function forgotten(known, back) {
  const problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  const email = el('input.input', {
    id: 'email',
    type: 'email',
    autocomplete: 'username',
    required: true,
    maxlength: 254,
    'aria-describedby': 'problem',
    input: () => complain(''),
  });
  email.value = known;
  const button = el('button.button.primary', { type: 'submit' }, t('Send the link'));
  const title = el('h1', { id: 'forgotten-title', tabindex: '-1' }, t('Forgot your password?'));
  const leave = el('button.button.quiet', { type: 'button', click: back }, t('Back to the login'));
  let isBusy = false;

  /** @param {string} words '' for none */
  function complain(words) {
    problem.hidden = !words;
    if (words) problem.replaceChildren(icon('alert', 'small'), el('span', {}, words));
    email.setAttribute('aria-invalid', String(!!words));
  }

  /** @param {string} address */
  function sent(address) {
    title.textContent = t('Look in your mailbox');
    form.replaceChildren(el('span.logo', {}, icon('swift')), title, ...answer(address), leave);
    title.focus();
  }

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    if (isBusy) return;
    const address = email.value.trim();
    if (!/^\S+@\S+$/.test(address)) {
      complain(address ? t('Enter a valid email address.') : t('Enter your email address.'));
      email.focus();
      return;
    }
    isBusy = true;
    button.setAttribute('aria-disabled', 'true');
    try {
      await api.forgotten(address);
      return sent(address);
    } catch (error) {
      complain(reasonOf(
        error,
        t('The server is not responding. Check your connection and try again.'),
      ));
      email.focus();
    }
    isBusy = false;
    button.removeAttribute('aria-disabled');
  }

  const form = el(
    'form.login',
    { 'aria-labelledby': 'forgotten-title', submit, novalidate: true },
    el('span.logo', {}, icon('swift')),
    title,
    el('p.hint', {}, t('You get a link by e-mail with which you set a new one.')),
    el('div.field', {}, el('label', { for: 'email' }, t('Email')), email, problem),
    button,
    leave,
  );
  return { root: el('main.gate', {}, form), focus: () => (known ? button : email).focus() };
}
