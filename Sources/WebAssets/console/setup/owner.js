// The first step: the owner's account and the name of the workspace.

import { el, icon } from '../../shared/dom.js';
import { pieces, t } from '../shell/language.js';
import { api } from '../shell/api.js';
import { PASSWORD_MIN } from '../shell/own-password.js';
import { Form, refusal } from '../settings/form.js';
import { text } from '../settings/fields.js';

/**
 * The values of the fields.
 * @typedef {{link: string, name: string, email: string, password: string, workspace: string}} Owner
 */

/** @type {[name: string, words: string][]} */
const COMING = [
  ['eye', t('Name and colours, with a preview while you type')],
  ['clock', t('The hours in which you answer')],
  ['file', t('One line for your website, and a test message')],
];

/**
 * @param {import('./main.js').SetupContext} context
 * @returns {import('./main.js').Step}
 */
export function owner(context) {
  /** @type {Form<Owner>} */
  const form = new Form({ link: '', name: '', email: '', password: '', workspace: '' });

  async function create() {
    const { link, ...account } = form.now;
    const code = context.code || link.trim().split('#').at(-1);
    if (!code) throw refusal('link', t('Enter the link that the gateway printed when it started.'));
    for (const [path, words] of REQUIRED) {
      if (!account[path].trim()) throw refusal(path, words);
    }
    if ([...account.password].length < PASSWORD_MIN) {
      throw refusal('password', t('Use at least {} characters.', PASSWORD_MIN));
    }
    await api.setUp({
      code,
      name: account.name.trim(),
      email: account.email.trim(),
      workspace: account.workspace.trim(),
      password: account.password,
    });
    // The code is used up, and a reload goes on with the login's cookie.
    context.code = '';
    history.replaceState(null, '', location.pathname);
    api.know(true);
    return undefined;
  }

  return {
    title: t('Create the owner'),
    lead: t('The first account. It can do everything, and invite the others.'),
    verb: t('Create the owner'),
    form,
    fields: [
      ...(context.code ? [] : [linkField(form)]),
      text(form, 'name', {
        label: t('Your name'), hint: t('Visitors see it.'), autocomplete: 'name', max: 100, required: true,
      }),
      text(form, 'email', {
        label: t('Email'), type: 'email', autocomplete: 'username', max: 254, required: true,
      }),
      passwordField(form),
      text(form, 'workspace', {
        label: t('Workspace'),
        hint: t('The name of your shop, company or team. Visitors see it above the chat.'),
        autocomplete: 'organization',
        max: 80,
        required: true,
      }),
    ],
    aside: el('div', {}, el('h3', {}, t('Next steps')),
      el('ul', {}, ...COMING.map(([look, words]) => el('li', {}, icon(look), el('span', {}, words)))),
      el('p.meta', {}, t('About five minutes. Everything can be changed later in Settings.'))),
    save: () => form.save(create),
  };
}

/** @type {[path: 'name' | 'email' | 'password' | 'workspace', words: string][]} */
const REQUIRED = [
  ['name', t('Enter your name.')], ['email', t('Enter your email address.')],
  ['password', t('Enter a password.')], ['workspace', t('Enter a name.')],
];

/** @param {Form<Owner>} form */
const linkField = (form) => el('div.field', {}, text(form, 'link', {
  label: t('Setup link'),
  hint: t('The gateway printed it when it started.'),
  secret: true,
  code: true,
  max: 512,
  required: true,
}), el('p.hint', {},
  ...pieces('Set up already? {}', el('a', { href: '/console' }, t('Log in')))));

/** @param {Form<Owner>} form */
function passwordField(form) {
  const root = text(form, 'password', {
    label: t('Password'),
    hint: t('At least {} characters; a sentence works well.', PASSWORD_MIN),
    type: 'password',
    autocomplete: 'new-password',
    secret: true,
    max: 1024,
    required: true,
  });
  const control = /** @type {HTMLInputElement} */ (root.querySelector('input'));
  control.dir = 'ltr';
  const eye = el('button.icon-button.eye', {
    type: 'button',
    'aria-label': t('Show password'),
    'aria-pressed': 'false',
    click: () => {
      const isShown = control.type === 'password';
      control.type = isShown ? 'text' : 'password';
      eye.setAttribute('aria-pressed', String(isShown));
      control.focus();
    },
  }, icon('eye'));
  const frame = el('div.secret');
  control.replaceWith(frame);
  frame.append(control, eye);
  const hint = /** @type {HTMLElement} */ (root.querySelector('.hint'));
  form.onChange(() => {
    const count = [...form.now.password].length;
    const isEnough = count >= PASSWORD_MIN;
    hint.classList.toggle('ok', isEnough);
    const words = count ? t('{1} of at least {2} characters.', count, PASSWORD_MIN)
      : t('At least {} characters; a sentence works well.', PASSWORD_MIN);
    hint.replaceChildren(...(isEnough ? [icon('check', 'small')] : []), words);
  });
  return root;
}
