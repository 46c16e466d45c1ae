// The way in. What happened is said in words: a wrong password, a pause after too many tries, a
// server that does not answer, Caps Lock. In a demo both fields are filled.

import { el, icon } from '../../shared/dom.js';
import { store } from '../../shared/store.js';
import { api } from './api.js';

const LAST = 'chirrup:console:last'; // who logged in here last, and where
const PAUSE = 60; // s, if the server does not say how long

/**
 * @param {string} told why somebody stands here again, or ''
 * @param {(session: any, password: string) => void} done
 */
export function login(told, done) {
  const last = store.get(LAST);
  const demo = document.body.dataset;
  const email = el('input.input', {
    id: 'email',
    type: 'email',
    autocomplete: 'username',
    required: true,
    'aria-describedby': 'email-problem',
    input: () => complain(email, emailProblem, ''),
  });
  const password = el('input.input', {
    id: 'password',
    type: 'password',
    autocomplete: 'current-password',
    required: true,
    'aria-describedby': 'problem caps',
    keydown: caps,
    keyup: caps,
    blur: () => { hint.hidden = true; },
    input: () => complain(password, problem, ''),
  });
  const eye = el('button.icon-button.eye', {
    type: 'button',
    'aria-label': 'Show what is typed',
    'aria-pressed': 'false',
    click: reveal,
  }, icon('eye'));
  const emailProblem = el('p.error', { id: 'email-problem', role: 'alert', hidden: true });
  const problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  const hint = el('p.hint', { id: 'caps', role: 'status', hidden: true }, 'Caps Lock is on.');
  const button = el('button.button.primary', { type: 'submit' }, 'Log in');
  let busy = false;
  let clock = 0;
  email.value = demo.email || last?.email || '';
  password.value = demo.password ?? '';

  function caps(event) { hint.hidden = !event.getModifierState?.('CapsLock'); }

  function reveal() {
    const shown = password.type === 'password';
    password.type = shown ? 'text' : 'password';
    eye.setAttribute('aria-pressed', String(shown));
    password.focus();
  }

  function complain(field, place, words) {
    place.hidden = !words;
    if (words) {
      place.replaceChildren(icon('alert', 'small'), el('span', {}, words));
      field.setAttribute('aria-invalid', 'true');
    } else {
      field.removeAttribute('aria-invalid');
    }
  }

  async function submit(event) {
    event.preventDefault();
    if (busy || clock) return;
    complain(password, problem, '');
    if (!/^\S+@\S+$/.test(email.value.trim())) {
      complain(email, emailProblem, email.value.trim()
        ? 'This is not an email address.' : 'Write your email address.');
      return email.focus();
    }
    if (!password.value) {
      complain(password, problem, 'Write your password.');
      return password.focus();
    }
    busy = true;
    button.setAttribute('aria-disabled', 'true');
    button.textContent = 'Logging in';
    try {
      const session = await api.login(email.value.trim(), password.value);
      api.know(true);
      store.set(LAST, { email: session.operator.email, workspace: session.workspace.name });
      busy = false;
      return done(session, password.value);
    } catch (error) {
      refused(error);
    }
    busy = false;
    if (clock) return;
    button.removeAttribute('aria-disabled');
    button.textContent = 'Log in';
  }

  function refused(error) {
    if (error.status === 429) return pause(error);
    const words = error.status === 401 ? 'Email and password do not match.'
      : !error.status ? 'The server does not answer. Check the connection and try again.'
      : error.message;
    complain(password, problem, words);
    if (error.status !== 401) password.removeAttribute('aria-invalid');
    password.focus();
    if (error.status === 401) password.select();
  }

  /** Too many tries: the button says when it works again. */
  function pause(error) {
    const seconds = Number(/(\d+)\s*s\b/.exec(error.message)?.[1] ?? PAUSE);
    const until = Date.now() + seconds * 1000;
    complain(password, problem, 'Too many tries from here. After the pause you can try again.');
    password.removeAttribute('aria-invalid');
    const tick = () => {
      const left = Math.ceil((until - Date.now()) / 1000);
      if (left > 0) {
        button.textContent = `Try again in ${left}\u00a0s`;
        return;
      }
      clearInterval(clock);
      clock = 0;
      button.removeAttribute('aria-disabled');
      button.textContent = 'Log in';
      complain(password, problem, '');
    };
    clock = setInterval(tick, 500);
    button.setAttribute('aria-disabled', 'true');
    tick();
  }

  const root = el(
    'main.gate',
    {},
    el(
      'form.login',
      { 'aria-labelledby': 'login-title', submit, novalidate: true },
      el('span.logo', {}, icon('swift')),
      el('h1', { id: 'login-title' }, `Log in to ${last?.workspace ?? 'the console'}`),
      told && el('p.told', { role: 'status' }, icon('check'), el('span', {}, told)),
      el('div.field', {}, el('label', { for: 'email' }, 'Email'), email, emailProblem),
      el(
        'div.field',
        {},
        el('label', { for: 'password' }, 'Password'),
        el('div.secret', {}, password, eye),
        hint,
        problem,
      ),
      button,
    ),
  );
  return {
    root,
    focus: () => (email.value ? (password.value ? button : password) : email).focus(),
  };
}
