// The operator's passkeys: added, and removed, with the password.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { api, reasonOf } from '../shell/api.js';
import { recoveryCodes } from '../shell/enrolment.js';
import { addPasskey, hasPasskeys, passkeyWords } from '../shell/passkeys.js';
import { SILENCE, passwordField, prompt } from './prompt.js';
import { ago, moment } from './times.js';

/** @type {import('./prompt.js').Field} */
const NAME = ['name', t('Name of the device'), { maxlength: 50, autocomplete: 'off' }];

/** @param {Passkey} passkey */
const facts = ({ host, synced, created_at: made, last_used_at: used }) => [
  host !== location.hostname && t('for {}|host', host),
  synced ? t('on your devices') : t('on one device'),
  t('added {}', moment(made)),
  used ? t('last used {}', ago(used)) : t('not used yet'),
].filter(Boolean).join(' · ');

/**
 * The panel of the page “Security”.
 * @param {() => Promise<void>} changed is called after a change, which may have ended sessions
 */
export function passkeyList(changed) {
  const rows = el('ul.devices');
  const body = el('div.step');
  let hasPassword = true;
  const heading = el('h2', { id: 'passkeys', tabindex: -1 }, t('Passkeys'));
  const add = el('button.button', { type: 'button', click: begin }, t('Add a passkey'));

  /** @param {HTMLElement=} step */
  function open(step) {
    body.replaceChildren(...(step ? [step] : hasPasskeys ? [add] : []));
    (step?.querySelector('input') ?? heading).focus();
  }

  async function again() {
    await changed();
    open();
  }

  function begin() {
    const fields = [NAME, ...passwordField(hasPassword)];
    open(prompt(fields, t('Continue'), async ({ name, password }) => {
      const { recovery_codes: codes } = await addPasskey(password, name);
      if (!codes) return again();
      await changed();
      body.replaceChildren(recoveryCodes(codes, again));
    }, () => open(), (error) => passkeyWords(error) || reasonOf(error, SILENCE)));
  }

  /** @param {Passkey} passkey */
  function draw(passkey) {
    /** @type {(values: Record<string, string>) => Promise<void>} */
    const work = async ({ password }) => {
      await api.removePasskey(passkey.id, password);
      await again();
    };
    const remove = () => open(
      prompt(passwordField(hasPassword), t('Remove passkey'), work, () => open()));
    return el('li', {},
      icon(passkey.synced ? 'shield' : 'lock'),
      el('div', {}, el('b', { dir: 'auto' }, passkey.name), el('p.meta', {}, facts(passkey))),
      el('button.button', { type: 'button', 'aria-label': t('Remove the passkey: {}', passkey.name),
        click: remove }, t('Remove')));
  }

  if (hasPasskeys) body.append(add);
  return {
    root: el('section.panel', { 'aria-labelledby': 'passkeys' }, heading,
      el('p', {}, hasPasskeys
        ? t('Log in with your fingerprint, face or device PIN instead of the password.')
        : t('Passkeys work at a host name over TLS only, such as https://chat.example.com.')),
      rows, body),
    /** @param {SecondFactor} state */
    show({ passkeys, has_password: has }) {
      hasPassword = has;
      rows.replaceChildren(...passkeys.map(draw));
    },
  };
}
