// Setting up an app for one-time codes: the password, if the account has one, the secret as a
// picture and as text, the first code, and the recovery codes, which are shown once. The module
// that draws the picture is loaded when it is needed. The forced page offers a passkey as well, if
// the browser has them.

import { el, icon } from '../../shared/dom.js';
import { api, Problem, reasonOf } from './api.js';
import { t } from './language.js';
import { addPasskey, hasPasskeys, passkeyWords } from './passkeys.js';

const SILENCE = t('The server is not responding. Check your connection and try again.');
const MARGIN = 4; // modules around the picture (ISO/IEC 18004)

/**
 * What is used of qrcode-generator.
 * @typedef {(version: number, level: string) => {addData: (text: string) => void,
 *   make: () => void, getModuleCount: () => number,
 *   isDark: (row: number, column: number) => boolean}} MakeCode
 */

/** @param {string} text */
async function picture(text) {
  /** @type {{default: MakeCode}} */
  const { default: make } = await import(QR_CODE);
  const code = make(0, 'M');
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  let dark = '';
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < count; column += 1) {
      if (code.isDark(row, column)) dark += `M${column} ${row}h1v1h-1z`;
    }
  }
  const size = count + 2 * MARGIN;
  return el(
    'svg.qr',
    { viewBox: `${-MARGIN} ${-MARGIN} ${size} ${size}`, role: 'img', 'aria-label': t('QR code of the key') },
    el('path', { fill: '#fff', d: `M${-MARGIN} ${-MARGIN}h${size}v${size}h${-size}z` }),
    el('path', { fill: '#141b1c', 'shape-rendering': 'crispEdges', d: dark }),
  );
}

/**
 * A field and its label.
 * @param {string} id
 * @param {string} label
 * @param {Record<string, unknown>} more
 */
function labelled(id, label, more) {
  const control = el('input.input', { id, required: true, ...more });
  return { control, root: el('div.field', {}, el('label', { for: id }, label), control) };
}

/**
 * The recovery codes, to be copied or downloaded.
 * @param {string[]} codes
 * @param {() => void} done
 */
export function recoveryCodes(codes, done) {
  const text = `${codes.join('\n')}\n`;
  const copy = el('button.button', { type: 'button' }, t('Copy'));
  copy.onclick = async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = t('Copied');
  };
  const file = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const finish = el('button.button.primary', { type: 'button', click: () => {
    URL.revokeObjectURL(file);
    done();
  } }, t('I have saved them'));
  return el(
    'div.step.codes',
    {},
    el('p', { role: 'status' }, t('Each code lets you in once, without the app. They are shown only now: save them where you find them without your phone.')),
    el('ul', { 'aria-label': t('Recovery codes') }, ...codes.map((code) => el('li', {}, code))),
    el('div.acts', {}, copy,
      el('a.button', { href: file, download: 'recovery-codes.txt' }, t('Download')), finish),
  );
}

/**
 * @typedef {{body: HTMLElement, done: () => void,
 *   attempt: (field: HTMLElement, work: () => Promise<void>) => Promise<void>}} Steps
 */

/**
 * @param {string | undefined} password
 * @param {Steps} steps
 */
function passkeyButton(password, { body, done, attempt }) {
  let isBusy = false;
  const button = el('button.button', { type: 'button' }, t('Use a passkey instead'));
  button.onclick = async () => {
    if (isBusy) return;
    isBusy = true;
    await attempt(button, async () => {
      const { recovery_codes: codes } = await addPasskey(password, t('Passkey'));
      if (codes) body.replaceChildren(recoveryCodes(codes, done));
      else done();
    });
    isBusy = false;
  };
  return button;
}

/**
 * Runs a step; a refusal is shown, and the field or the button keeps the focus.
 * @param {HTMLElement} problem
 */
function attempts(problem) {
  /**
   * @param {HTMLElement} field
   * @param {() => Promise<void>} work
   */
  return async (field, work) => {
    problem.hidden = true;
    field.removeAttribute('aria-invalid');
    try { await work(); } catch (error) {
      const isCode = error instanceof Problem && error.code === 'wrong_code';
      problem.hidden = false;
      problem.replaceChildren(icon('alert', 'small'), el('span', {}, isCode
        ? t('Wrong code. Enter the one that the app shows now.')
        : passkeyWords(error) || reasonOf(error, SILENCE)));
      if (field instanceof HTMLInputElement) field.setAttribute('aria-invalid', 'true');
      field.focus();
    }
  };
}

/**
 * @param {{given?: string, offersPasskey?: boolean, done: () => void}} on `given` is the password,
 *   if it is known; `done` is called when the recovery codes are saved
 */
export function enrolment({ given = '', offersPasskey = false, done }) {
  const problem = el('p.error', { id: 'enrol-problem', role: 'alert', hidden: true });
  const body = el('div.step');
  const root = el('div.enrol', {}, body, problem);

  const attempt = attempts(problem);

  /**
   * A step that asks for one text.
   * @param {Node[]} before
   * @param {{control: HTMLInputElement, root: HTMLElement}} field
   * @param {string} verb
   * @param {(value: string) => Promise<void>} work
   * @param {Node[]} after
   */
  function ask(before, field, verb, work, after = []) {
    const button = el('button.button.primary', { type: 'submit' }, verb);
    /** @param {Event} event */
    const submit = async (event) => {
      event.preventDefault();
      if (button.disabled || !field.control.value.trim()) return field.control.focus();
      button.disabled = true;
      await attempt(field.control, () => work(field.control.value.trim()));
      button.disabled = false;
    };
    body.replaceChildren(...before,
      el('form.step', { submit, novalidate: true }, field.root, button), ...after);
    field.control.focus();
  }

  /** @param {string=} password */
  async function begin(password) {
    const { secret, uri } = await api.beginApp(password);
    const code = labelled('first-code', t('Enter the 6 digits it shows'), {
      inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: 16,
      'aria-describedby': 'enrol-problem' });
    ask([
      el('p', {}, t('Open an authenticator app. Scan the picture, or type the key.')),
      await picture(uri),
      el('code.key', { 'aria-label': t('Key') }, secret.replace(/(.{4})(?=.)/g, '$1 ')),
    ], code, t('Turn on'), async (text) => {
      const { recovery_codes: codes } = await api.confirmApp(text);
      body.replaceChildren(recoveryCodes(codes, done));
    }, offersPasskey ? [passkeyButton(password, { body, done, attempt })] : []);
  }

  const password = labelled('enrol-password', t('Your password'), {
    type: 'password', autocomplete: 'current-password', maxlength: 1024,
    'aria-describedby': 'enrol-problem' });
  /** Members who log in with single sign-on may have no password: their login is recent. */
  async function start() {
    const { has_password: isNeeded } = await api.secondFactor();
    if (isNeeded) ask([], password, t('Continue'), begin);
    else await begin();
  }
  if (given) {
    ask([], password, t('Continue'), begin);
    attempt(password.control, () => begin(given));
  } else attempt(root, start);
  return { root, focus: () => root.querySelector('input')?.focus() };
}

/**
 * The page of an operator whose workspace requires a second factor, before anything else.
 * @param {string} given the password of this login, or '' after a reload
 * @param {() => Promise<void>} done
 * @param {(notice: string) => void} leave
 */
export function enrolmentGate(given, done, leave) {
  const steps = enrolment({ given, offersPasskey: hasPasskeys, done });
  const root = el(
    'main.gate',
    {},
    el(
      'section.login',
      { 'aria-labelledby': 'enrol-title' },
      el('span.logo', {}, icon('swift')),
      el('h1', { id: 'enrol-title' }, t('Set up a second factor')),
      el('p.hint', {}, hasPasskeys
        ? t('Your workspace requires one: a passkey, or a code from an app after your password or single sign-on.')
        : t('Your workspace requires one: a code from an app after your password or single sign-on.')),
      steps.root,
      el('button.button.quiet', {
        type: 'button',
        click: () => leave(t('You are logged out.')),
      }, t('Log out')),
    ),
  );
  return { root, focus: steps.focus };
}
