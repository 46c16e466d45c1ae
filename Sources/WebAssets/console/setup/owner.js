// The first step: the owner's account and the name of the workspace.

import { el, icon } from '../../shared/dom.js';
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
  ['eye', 'Name and colours, with a preview while you type'],
  ['clock', 'The hours in which you answer'],
  ['file', 'One line for your website, and a test message'],
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
    if (!code) throw refusal('link', 'Enter the link that the gateway printed when it started.');
    for (const [path, words] of REQUIRED) {
      if (!account[path].trim()) throw refusal(path, words);
    }
    if ([...account.password].length < PASSWORD_MIN) {
      throw refusal('password', `Use at least ${PASSWORD_MIN} characters.`);
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
    title: 'Create the owner',
    lead: 'The first account. It can do everything, and invite the others.',
    verb: 'Create the owner',
    form,
    fields: [
      ...(context.code ? [] : [linkField(form)]),
      text(form, 'name', {
        label: 'Your name', hint: 'Visitors see it.', autocomplete: 'name', max: 100, required: true,
      }),
      text(form, 'email', {
        label: 'Email', type: 'email', autocomplete: 'username', max: 254, required: true,
      }),
      passwordField(form),
      text(form, 'workspace', {
        label: 'Workspace',
        hint: 'The name of your shop, company or team. Visitors see it above the chat.',
        autocomplete: 'organization',
        max: 80,
        required: true,
      }),
    ],
    aside: el('div', {}, el('h3', {}, 'Next steps'),
      el('ul', {}, ...COMING.map(([look, words]) => el('li', {}, icon(look), el('span', {}, words)))),
      el('p.meta', {}, 'About five minutes. Everything can be changed later in Settings.')),
    save: () => form.save(create),
  };
}

/** @type {[path: 'name' | 'email' | 'password' | 'workspace', words: string][]} */
const REQUIRED = [
  ['name', 'Enter your name.'], ['email', 'Enter your email address.'],
  ['password', 'Enter a password.'], ['workspace', 'Enter a name.'],
];

/** @param {Form<Owner>} form */
const linkField = (form) => el('div.field', {}, text(form, 'link', {
  label: 'Setup link',
  hint: 'The gateway printed it when it started.',
  secret: true,
  code: true,
  max: 512,
  required: true,
}), el('p.hint', {}, 'Set up already? ', el('a', { href: '/console' }, 'Log in')));

/** @param {Form<Owner>} form */
function passwordField(form) {
  const root = text(form, 'password', {
    label: 'Password',
    hint: `At least ${PASSWORD_MIN} characters; a sentence works well.`,
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
    'aria-label': 'Show password',
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
    const words = count ? `${count} of at least ${PASSWORD_MIN} characters` : `At least ${
      PASSWORD_MIN} characters; a sentence works well`;
    hint.replaceChildren(...(isEnough ? [icon('check', 'small')] : []), `${words}.`);
  });
  return root;
}
