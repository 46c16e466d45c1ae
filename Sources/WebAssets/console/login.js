// The way in. In a demo both fields are filled.

import { el, icon } from '../shared/dom.js';
import { api } from './api.js';

/**
 * @param {string} told why somebody stands here again, or ''
 * @param {(session: any) => void} done
 */
export function login(told, done) {
  const email = el('input.input', {
    id: 'email',
    type: 'email',
    autocomplete: 'username',
    required: true,
  });
  const password = el('input.input', {
    id: 'password',
    type: 'password',
    autocomplete: 'current-password',
    required: true,
    'aria-describedby': 'problem',
  });
  const problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  const button = el('button.button.primary', { type: 'submit' }, 'Log in');
  email.value = document.body.dataset.email ?? '';
  password.value = document.body.dataset.password ?? '';

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    try {
      const session = await api.login(email.value.trim(), password.value);
      api.know(true);
      done(session);
    } catch (error) {
      problem.hidden = false;
      problem.replaceChildren(icon('alert', 'small'), el(
        'span',
        {},
        error.status === 401
          ? 'Email and password do not match.'
          : error.status
          ? error.message
          : 'The server does not answer. Check the connection and try again.',
      ));
      password.setAttribute('aria-invalid', String(error.status === 401));
      password.focus();
    }
    button.disabled = false;
  }

  const root = el(
    'main.gate',
    {},
    el(
      'form.login',
      { 'aria-labelledby': 'login-title', submit },
      el('span.logo', {}, icon('swift')),
      el('h1', { id: 'login-title' }, 'Log in to the console'),
      told && el('p.told', { role: 'status' }, icon('check'), el('span', {}, told)),
      el('div.field', {}, el('label', { for: 'email' }, 'Email'), email),
      el('div.field', {}, el('label', { for: 'password' }, 'Password'), password, problem),
      button,
    ),
  );
  return {
    root,
    focus: () => (email.value ? (password.value ? button : password) : email).focus(),
  };
}
