// Single sign-on: the name of the workspace, then the page of its identity provider, which sends
// the browser back to the console with a code.

import { el, icon } from '../../shared/dom.js';
import { store } from '../../shared/store.js';
import { api, reasonOf } from './api.js';
import { t } from './language.js';

const LAST = 'chirrup:console:sign-on'; // the workspace of the last sign-in
const SILENCE = t('The server is not responding. Check your connection and try again.');

/**
 * The provider's answer in the address, which loses it: a reload does not send it again.
 * @returns {ProviderAnswer?}
 */
export function takeAnswer() {
  const query = new URLSearchParams(location.search);
  const state = query.get('state');
  if (!state) return null;
  history.replaceState(null, '', location.pathname);
  const given = ['code', 'iss', 'error'].map((name) => [name, query.get(name)]);
  return { state, ...Object.fromEntries(given.filter(([, value]) => value)) };
}

/** The workspace for which a link has asked, such as `/console?workspace=acme`. */
export const invitation = () => new URLSearchParams(location.search).get('workspace') ?? '';

/**
 * @param {{workspace?: string, trouble?: string}} start `trouble` is why the last attempt failed
 * @param {() => void} back to the login with a password
 */
export const signOn = (start, back) => new SignOnForm(start, back);

class SignOnForm {
  #workspace;
  #problem = el('p.error', { id: 'problem', role: 'alert', hidden: true });
  #button = el('button.button.primary', { type: 'submit' }, t('Continue'));
  #isBusy = false;

  /**
   * @param {{workspace?: string, trouble?: string}} start
   * @param {() => void} back
   */
  constructor({ workspace = '', trouble = '' }, back) {
    this.#workspace = el('input.input', {
      id: 'workspace',
      required: true,
      maxlength: 200,
      autocapitalize: 'none',
      spellcheck: 'false',
      autocomplete: 'organization',
      'aria-describedby': 'problem',
      input: () => { this.#complain(''); this.#button.textContent = t('Continue'); },
    });
    this.#workspace.value = workspace || store.get(LAST) || '';
    /** @type {(event: Event) => void} */
    const submit = (event) => { event.preventDefault(); this.#submit(); };
    this.root = el(
      'main.gate',
      {},
      el(
        'form.login',
        { 'aria-labelledby': 'sign-on-title', submit, novalidate: true },
        el('span.logo', {}, icon('swift')),
        el('h1', { id: 'sign-on-title' }, t('Single sign-on')),
        el('p.hint', {}, t('You log in with your organization’s identity provider.')),
        el('div.field', {}, el('label', { for: 'workspace' }, t('Workspace')), this.#workspace,
          this.#problem),
        this.#button,
        el('button.button.quiet', { type: 'button', click: back }, t('Use a password')),
      ),
    );
    this.#complain(trouble);
    this.#name(this.#workspace.value);
  }

  focus() { (this.#workspace.value ? this.#button : this.#workspace).focus(); }

  /**
   * Names the provider on the button, if the workspace has one.
   * @param {string} workspace
   */
  async #name(workspace) {
    if (!workspace) return;
    const found = await api.provider(workspace).catch(() => null);
    if (!found || this.#workspace.value !== workspace || this.#isBusy) return;
    this.#button.textContent = t('Sign in with {}', found.label);
  }

  /** @param {string} words '' for none */
  #complain(words) {
    this.#problem.hidden = !words;
    if (words) this.#problem.replaceChildren(icon('alert', 'small'), el('span', {}, words));
    else this.#workspace.removeAttribute('aria-invalid');
  }

  async #submit() {
    const workspace = this.#workspace.value.trim();
    if (this.#isBusy) return;
    this.#complain('');
    if (!workspace) {
      this.#complain(t('Enter the name of your workspace.'));
      this.#workspace.setAttribute('aria-invalid', 'true');
      this.#workspace.focus();
      return;
    }
    this.#isBusy = true;
    this.#button.setAttribute('aria-disabled', 'true');
    try {
      const { url } = await api.beginProvider(workspace);
      store.set(LAST, workspace);
      location.assign(url);
      return;
    } catch (error) {
      this.#complain(reasonOf(error, SILENCE));
    }
    this.#isBusy = false;
    this.#button.removeAttribute('aria-disabled');
  }
}

/**
 * Why an answer was refused, for the next attempt.
 * @param {unknown} error
 */
export const troubleOf = (error) => reasonOf(error, SILENCE);
