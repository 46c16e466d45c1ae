// The second step of a login: a passkey, a code of the operator's app, or a recovery code.

import { el, icon } from '../../shared/dom.js';
import { api, Problem, reasonOf, statusOf } from './api.js';
import { t } from './language.js';
import { hasPasskeys, passkeyWords, usePasskey } from './passkeys.js';

const SILENCE = t('The server is not responding. Check your connection and try again.');

/** @param {unknown} error */
function wordsFor(error) {
  if (error instanceof Problem && error.code === 'wrong_code') {
    return t('Wrong code, or one that was used before. Enter the current one.');
  }
  if (statusOf(error) === 429) return t('Too many failed attempts. Wait, then try again.');
  return passkeyWords(error) || reasonOf(error, SILENCE);
}

/**
 * @param {LoginChallenge} step the first one
 * @param {(session: Login) => void} done
 * @param {(notice: string) => void} back to the first step
 */
export const codeForm = (step, done, back) => new CodeForm(step, done, back);

class CodeForm {
  #challenge;
  #done;
  #back;
  #problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  #label = el('label', { for: 'code' });
  #hint = el('p.hint');
  #field = el('input.input', { id: 'code', required: true, maxlength: 64,
    autocapitalize: 'none', spellcheck: 'false', 'aria-describedby': 'problem',
    input: () => this.#complain('') });
  #button = el('button.button.primary', { type: 'submit' }, t('Log in'));
  /** Changes between the codes of the app and the recovery codes. */
  #other = el('button.button.quiet', { type: 'button', click: () => this.#draw(!this.#isRecovery) });
  #passkey = el('button.button', { type: 'button', click: () => this.#usePasskey() }, t('Use a passkey'));
  #isRecovery = false;
  #isBusy = false;

  /**
   * @param {LoginChallenge} step
   * @param {(session: Login) => void} done
   * @param {(notice: string) => void} back
   */
  constructor({ challenge, methods }, done, back) {
    this.#challenge = challenge;
    this.#done = done;
    this.#back = back;
    const hasApp = methods.includes('code');
    this.#passkey.hidden = !(methods.includes('passkey') && hasPasskeys);
    this.#other.hidden = !hasApp;
    this.#draw(!hasApp);
    /** @type {(event: Event) => void} */
    const submit = (event) => {
      event.preventDefault();
      this.#submit();
    };
    this.root = frame(submit, [
      this.#passkey,
      this.#hint,
      el('div.field', {}, this.#label, this.#field, this.#problem),
      this.#button,
      this.#other,
    ], back);
  }

  focus() { (this.#passkey.hidden ? this.#field : this.#passkey).focus(); }

  /** @param {boolean} isRecovery */
  #draw(isRecovery) {
    this.#isRecovery = isRecovery;
    this.#label.textContent = isRecovery ? t('Recovery code') : t('Code');
    this.#hint.textContent = isRecovery
      ? t('One of the codes that you saved when you turned two-factor login on. Each works once.')
      : t('Open your authenticator app and enter the 6 digits it shows.');
    this.#other.textContent = isRecovery ? t('Use a code of the app') : t('Use a recovery code');
    this.#field.setAttribute('inputmode', isRecovery ? 'text' : 'numeric');
    this.#field.setAttribute('autocomplete', isRecovery ? 'off' : 'one-time-code');
    this.#field.value = '';
    this.#complain('');
    this.#field.focus();
  }

  /** @param {string} words '' for none */
  #complain(words) {
    this.#problem.hidden = !words;
    if (words) this.#problem.replaceChildren(icon('alert', 'small'), el('span', {}, words));
    else this.#field.removeAttribute('aria-invalid');
  }

  async #submit() {
    const code = this.#field.value.trim();
    if (code) {
      if (await this.#send(() => api.code(this.#challenge, code))) return;
      this.#field.select();
    } else this.#complain(t('Enter the code.'));
    this.#field.setAttribute('aria-invalid', 'true');
    this.#field.focus();
  }

  async #usePasskey() {
    if (!await this.#send(() => usePasskey(this.#challenge))) this.#passkey.focus();
  }

  /**
   * Returns whether the login is over, with or without success.
   * @param {() => Promise<Login>} work
   */
  async #send(work) {
    if (this.#isBusy) return true;
    this.#isBusy = true;
    this.#complain('');
    this.#button.setAttribute('aria-disabled', 'true');
    try {
      this.#done(await work());
      return true;
    } catch (error) {
      if (error instanceof Problem && error.code === 'challenge_expired') {
        this.#back(t('The code was not entered in time. Log in again.'));
        return true;
      }
      this.#complain(wordsFor(error));
    }
    this.#isBusy = false;
    this.#button.removeAttribute('aria-disabled');
    return false;
  }
}

/**
 * @param {(event: Event) => void} submit
 * @param {HTMLElement[]} parts
 * @param {(notice: string) => void} back
 */
const frame = (submit, parts, back) => el(
  'main.gate',
  {},
  el(
    'form.login',
    { 'aria-labelledby': 'code-title', submit, novalidate: true },
    el('span.logo', {}, icon('swift')),
    el('h1', { id: 'code-title' }, t('Enter your code')),
    ...parts,
    el('button.button.quiet', { type: 'button', click: () => back('') }, t('Back')),
  ),
);
