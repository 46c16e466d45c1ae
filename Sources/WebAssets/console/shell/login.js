// The login form. It explains each refusal: a wrong password, too many attempts, a server that does
// not answer, Caps Lock. In a demo the page fills both fields.

import { el, icon } from '../../shared/dom.js';
import { store } from '../../shared/store.js';
import { api, Problem, reasonOf, statusOf } from './api.js';
import { languageChoice } from './language-choice.js';
import { t } from './language.js';
import { hasPasskeys, passkeyWords, usePasskey } from './passkeys.js';

const LAST = 'chirrup:console:last'; // email and workspace of the last login
const SILENCE = t('The server is not responding. Check your connection and try again.');
const PAUSE = 60; // s, if the refusal names no time

/**
 * Is called after the login, or after its first step.
 * @typedef {(step: Login | LoginChallenge, password: string) => void} Done
 */

/**
 * Notes a login for the next one.
 * @param {Login} session
 */
export function remember({ operator, workspace }) {
  api.know(true);
  store.set(LAST, { email: operator.email, workspace: workspace.name });
}

/**
 * @param {string} notice why the login is shown again, or ''
 * @param {Done} done
 * @param {() => void} other is called for single sign-on
 * @param {(email: string) => void} forgot is called if the password is forgotten
 */
export const login = (notice, done, other, forgot) => new LoginForm(notice, done, other, forgot);

class LoginForm {
  #done;
  /** @type {HTMLInputElement} */
  #email;
  /** @type {HTMLInputElement} */
  #password;
  #eye;
  #emailProblem = el('p.error', { id: 'email-problem', role: 'alert', hidden: true });
  #problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  #hint = el('p.hint', { id: 'caps', role: 'status', hidden: true }, t('Caps Lock is on.'));
  #button = el('button.button.primary', { type: 'submit' }, t('Log in'));
  #passkey = el('button.button', { type: 'button', click: () => this.#usePasskey() }, t('Use a passkey'));
  #signOn;
  #forgot;
  #isBusy = false;
  #clock = 0;

  /**
   * @param {string} notice
   * @param {Done} done
   * @param {() => void} other
   * @param {(email: string) => void} forgot
   */
  constructor(notice, done, other, forgot) {
    this.#done = done;
    this.#signOn = el('button.button', { type: 'button', click: other }, t('Single sign-on'));
    // The gateway says in the page whether it sends e-mail.
    this.#forgot = document.body.dataset.mail && el('button.link.forgot', {
      type: 'button', click: () => forgot(this.#email.value.trim()),
    }, t('Forgot your password?'));
    /** @type {{email: string, workspace: string}?} */
    const last = store.get(LAST);
    const demo = document.body.dataset;
    this.#email = this.#emailField();
    this.#password = this.#passwordField();
    this.#eye = el('button.icon-button.eye', {
      type: 'button',
      'aria-label': t('Show password'),
      'aria-pressed': 'false',
      click: () => this.#reveal(),
    }, icon('eye'));
    this.#email.value = demo.email || last?.email || '';
    this.#password.value = demo.password ?? '';
    this.root = this.#form(notice, last?.workspace ?? '');
  }

  focus() {
    const { value } = this.#email;
    (value ? (this.#password.value ? this.#button : this.#password) : this.#email).focus();
  }

  #emailField() {
    return el('input.input', {
      id: 'email',
      type: 'email',
      autocomplete: 'username',
      required: true,
      'aria-describedby': 'email-problem',
      input: () => this.#complain(this.#email, this.#emailProblem, ''),
    });
  }

  #passwordField() {
    /** @param {KeyboardEvent} event */
    const caps = (event) => { this.#hint.hidden = !event.getModifierState?.('CapsLock'); };
    return el('input.input', {
      id: 'password',
      type: 'password',
      autocomplete: 'current-password',
      required: true,
      'aria-describedby': 'problem caps',
      keydown: caps,
      keyup: caps,
      blur: () => { this.#hint.hidden = true; },
      input: () => this.#complain(this.#password, this.#problem, ''),
    });
  }

  /**
   * @param {string} notice
   * @param {string} place the name of the workspace, or ''
   */
  #form(notice, place) {
    return el(
      'main.gate',
      {},
      el(
        'form.login',
        {
          'aria-labelledby': 'login-title',
          submit: (event) => this.#submit(event),
          novalidate: true,
        },
        el('span.logo', {}, icon('swift')),
        el('h1', { id: 'login-title' }, place ? t('Log in to {}', place) : t('Log in to the console')),
        notice && el('p.notice', { role: 'status' }, icon('check'), el('span', {}, notice)),
        el('div.field', {}, el('label', { for: 'email' }, t('Email')), this.#email, this.#emailProblem),
        el(
          'div.field',
          {},
          el('label', { for: 'password' }, t('Password')),
          el('div.secret', {}, this.#password, this.#eye),
          this.#hint,
          this.#problem,
          this.#forgot,
        ),
        this.#button,
        hasPasskeys && this.#passkey,
        this.#signOn,
        languageChoice(),
      ),
    );
  }

  #reveal() {
    const password = this.#password;
    const isShown = password.type === 'password';
    password.type = isShown ? 'text' : 'password';
    this.#eye.setAttribute('aria-pressed', String(isShown));
    password.focus();
  }

  /**
   * Shows an error below a field.
   * @param {HTMLElement} field
   * @param {HTMLElement} place
   * @param {string} words '' for none
   */
  #complain(field, place, words) {
    place.hidden = !words;
    if (words) {
      place.replaceChildren(icon('alert', 'small'), el('span', {}, words));
      field.setAttribute('aria-invalid', 'true');
    } else {
      field.removeAttribute('aria-invalid');
    }
  }

  /** Whether both fields can be valid. The first that cannot gets the focus. */
  #isComplete() {
    const [email, password] = [this.#email, this.#password];
    const address = email.value.trim();
    if (!/^\S+@\S+$/.test(address)) {
      this.#complain(email, this.#emailProblem, address
        ? t('Enter a valid email address.') : t('Enter your email address.'));
      email.focus();
      return false;
    }
    if (!password.value) {
      this.#complain(password, this.#problem, t('Enter your password.'));
      password.focus();
      return false;
    }
    return true;
  }

  async #usePasskey() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#complain(this.#password, this.#problem, '');
    try {
      return this.#done(await usePasskey(), '');
    } catch (error) {
      this.#complain(this.#passkey, this.#problem, passkeyWords(error) || reasonOf(error, SILENCE));
      this.#passkey.removeAttribute('aria-invalid');
      this.#passkey.focus();
    } finally {
      this.#isBusy = false;
    }
  }

  /** @param {Event} event */
  async #submit(event) {
    const [email, password, button] = [this.#email, this.#password, this.#button];
    event.preventDefault();
    if (this.#isBusy || this.#clock) return;
    this.#complain(password, this.#problem, '');
    if (!this.#isComplete()) return;
    this.#isBusy = true;
    button.setAttribute('aria-disabled', 'true');
    button.textContent = t('Logging in');
    try {
      const step = await api.login(email.value.trim(), password.value);
      this.#isBusy = false;
      return this.#done(step, password.value);
    } catch (error) {
      this.#refused(error);
    }
    this.#isBusy = false;
    if (this.#clock) return;
    button.removeAttribute('aria-disabled');
    button.textContent = t('Log in');
  }

  /** @param {unknown} error */
  #refused(error) {
    const password = this.#password;
    const status = statusOf(error);
    const reason = reasonOf(error, SILENCE);
    if (error instanceof Problem && status === 429) return this.#pause(error.body.detail ?? '');
    const words = status === 401 ? t('Incorrect email or password. Try again.') : reason;
    this.#complain(password, this.#problem, words);
    if (status !== 401) password.removeAttribute('aria-invalid');
    password.focus();
    if (status === 401) password.select();
  }

  /**
   * After too many attempts the button counts the seconds until the next one is allowed.
   * @param {string} reason which names the seconds
   */
  #pause(reason) {
    const [password, button] = [this.#password, this.#button];
    const seconds = Number(/(\d+)\s*s\b/.exec(reason)?.[1] ?? PAUSE);
    const until = Date.now() + seconds * 1000;
    const words = t('Too many failed attempts. Wait, then try again.');
    this.#complain(password, this.#problem, words);
    password.removeAttribute('aria-invalid');
    const tick = () => {
      const left = Math.ceil((until - Date.now()) / 1000);
      if (left > 0) {
        button.textContent = t('Try again in {}\u00a0s', left);
        return;
      }
      clearInterval(this.#clock);
      this.#clock = 0;
      button.removeAttribute('aria-disabled');
      button.textContent = t('Log in');
      this.#complain(password, this.#problem, '');
    };
    this.#clock = setInterval(tick, 500);
    button.setAttribute('aria-disabled', 'true');
    tick();
  }
}
