// Single sign-on: the identity provider (OpenID Connect) of the workspace, and the roles that its
// groups give. The client's secret is written and never shown again.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { find } from '../shell/element.js';
import { confirmed, copyable, select, text, toggle } from './fields.js';
import { Form, saveBar } from './form.js';
import { pane } from './pane.js';
import { ROLES } from './roles.js';
import { cell, list, pick } from './rows.js';

/** @type {[value: string, words: string][]} */
const CHOICES = Object.entries(ROLES);

/** @type {IdentityProvider} */
const BLANK = {
  enabled: false,
  label: '',
  issuer: '',
  client_id: '',
  scopes: [],
  groups_claim: '',
  group_roles: [],
  default_role: null,
  create_members: false,
  take_roles_back: false,
  password_login: true,
  trust_second_factor: false,
  required_acr: null,
  required_amr: null,
};

/** @param {IdentityProvider?} provider */
const valuesOf = (provider) => ({
  ...(provider ?? BLANK),
  scopes: (provider?.scopes ?? []).join(' '),
  default_role: provider?.default_role ?? '',
  client_secret: '',
});

/** @typedef {Form<ReturnType<typeof valuesOf>>} ProviderForm */

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.rest.get('identity-provider');
  const locked = context.session().operator.role === 'owner' ? ''
    : t('View only. Owners can change this.');
  /** @type {ProviderForm} */
  const form = new Form(valuesOf(known.identity_provider), { keep: 'single-sign-on', locked });
  form.onChange(() => context.changed());
  const removal = confirmed(t('Remove'), t('Remove it? Members without a password cannot log in.'),
    () => remove(context, form));
  removal.hidden = !known.identity_provider || !!locked;
  const save = () => form.save(async () => {
    const { client_secret: secret, scopes, default_role: role, ...rest } = form.now;
    const answer = await context.rest.put('identity-provider', {
      ...rest,
      ...(secret && { client_secret: secret }),
      scopes: scopes.split(/[\s,]+/).filter(Boolean),
      default_role: role || null,
    });
    removal.hidden = false;
    return valuesOf(answer.identity_provider);
  });
  const { bar, submit } = saveBar(form, { save, more: [removal] });
  return {
    root: pane({
      title: t('Single sign-on'),
      lead: t('Members log in with your organization’s identity provider (OpenID Connect).'),
      body: [registration(form, known.redirect_uri), people(form), rules(form)],
      bar,
      submit,
    }),
    unsaved: () => form.changes.length,
  };
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @param {ProviderForm} form
 */
const remove = (context, form) => form.save(async () => {
  await context.rest.remove('identity-provider');
  return valuesOf(null);
}, t('Removed'));

/**
 * The switch works once a provider is saved: before, there is nothing to switch on.
 * @param {ProviderForm} form
 */
function onSwitch(form) {
  const root = toggle(form, 'enabled', {
    label: t('Single sign-on'), hint: t('Fill in the provider and save it, then switch it on'),
  });
  const control = find(root, 'input', HTMLInputElement);
  const hint = find(root, '.meta', HTMLElement);
  const follow = () => {
    const exists = !!form.saved.issuer;
    if (control) control.disabled = !exists || !!form.locked;
    if (hint) hint.hidden = exists;
  };
  form.onChange(follow);
  follow();
  return root;
}

/**
 * @param {ProviderForm} form
 * @param {string?} address
 */
const registration = (form, address) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'provider' },
  el('h2', { id: 'provider' }, t('Provider')),
  onSwitch(form),
  address && el(
    'div.field',
    {},
    el('p.label', {}, t('Redirect URI')),
    el('p.hint', {}, t('Register it at the provider.')),
    el('pre.code', { 'aria-label': t('Redirect URI') }, address),
    copyable(address, t('Copy')),
  ),
  text(form, 'label', {
    label: t('Name'), hint: t('On the button: “Sign in with …”.'), max: 60, required: true,
  }),
  text(form, 'issuer', {
    label: t('Issuer'), hint: t('Its address, such as https://login.example.com.'), max: 512, code: true,
    required: true,
  }),
  text(form, 'client_id', { label: t('Client ID'), max: 255, code: true, required: true }),
  text(form, 'client_secret', {
    label: t('Client secret'),
    hint: form.saved.issuer ? t('The current secret is not shown. Enter a new one to replace it.') : '',
    type: 'password',
    autocomplete: 'new-password',
    secret: true,
    max: 1024,
  }),
);

/** @param {ProviderForm} form */
const people = (form) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'people' },
  el('h2', { id: 'people' }, t('Members and roles')),
  toggle(form, 'create_members', {
    label: t('Create members'),
    hint: t('People who are not members yet become members at their first sign-in'),
  }),
  text(form, 'groups_claim', {
    label: t('Groups claim'), hint: t('The claim with the groups of a person, such as groups.'), max: 100,
    code: true,
  }),
  text(form, 'scopes', {
    label: t('Further scopes'), hint: t('Besides openid, email and profile.'), max: 512, code: true,
  }),
  list(form, 'group_roles', {
    label: t('Roles of groups'),
    hint: t('The highest role counts.'),
    add: t('Add a group'),
    row: (number) => t('Group {}', number),
    max: 100,
    fixed: true,
    /** @returns {GroupRole} */
    blank: () => ({ group: '', role: 'agent' }),
    draw: (item, change) => [
      cell(t('Group'), item.group, (group) => change({ group }), {
        locked: form.locked, maxlength: 255,
      }),
      pick(t('Role'), item.role, CHOICES, (role) => change({ role }), { locked: form.locked }),
    ],
  }),
  select(form, 'default_role', {
    label: t('Everybody else'), options: [['', t('No role')], ...CHOICES],
  }),
  toggle(form, 'take_roles_back', {
    label: t('Take roles back'),
    hint: t('A sign-in also lowers a role above that of the groups. Otherwise it only raises roles'),
  }),
);

/** @param {ProviderForm} form */
const rules = (form) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'rules' },
  el('h2', { id: 'rules' }, t('Logins')),
  toggle(form, 'password_login', {
    label: t('Allow passwords and passkeys'),
    hint: t('Owners can always use them, so that a broken provider locks nobody out'),
  }),
  toggle(form, 'trust_second_factor', {
    label: t('Trust the provider’s two-factor login'),
    hint: t('Members enter no code of Chirrup after the provider’s login'),
  }),
  text(form, 'required_acr', {
    label: t('Demanded acr'), hint: t('Sign-ins with another value are refused. Empty: any.'), max: 100,
    code: true, empty: null,
  }),
  text(form, 'required_amr', {
    label: t('Demanded amr'), hint: t('A method that must have been used, such as mfa. Empty: any.'),
    max: 100, code: true, empty: null,
  }),
);
