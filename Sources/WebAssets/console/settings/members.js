// The members of the workspace and their roles. A password that the page generates is shown once.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { face } from '../../shared/thread.js';
import { Problem } from '../shell/api.js';
import { collection, every } from './collection.js';
import { choice, confirmed, copyable, text, toggle } from './fields.js';
import { refusal } from './form.js';
import { isAdmin } from './pane.js';
import { ROLES } from './roles.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/** @typedef {Member & {enabled: boolean, byMail: boolean}} Values */
/** @typedef {import('./form.js').Form<Values>} MemberForm */
/** @typedef {import('./collection.js').Editor<Member, Values>} Editor */
/** @typedef {import('./collection.js').Saved<Member>} Saved */

/** @type {Record<string, string>} */
const MAY = {
  agent: t('Replies to visitors and edits canned replies.'),
  admin: t('Also manages settings, members, webhooks and keys.'),
  owner: t('Also manages owners. A workspace always has at least one.'),
};
/** Letters and digits that do not look alike. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const BY_MAIL = '-'; // in place of a password that is shown once
const LENGTH = 20; // 116 bits; longer than any password in the gateway's list of common ones

/** A random password in groups of four. */
function password() {
  const limit = 256 - 256 % LETTERS.length; // bytes above it would make some letters more likely
  let made = '';
  while (made.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH * 2))) {
      if (byte < limit && made.length < LENGTH) made += LETTERS[byte % LETTERS.length];
    }
  }
  return made.replace(/(.{4})(?=.)/g, '$1-');
}

/**
 * The class of the dot, and the words beside it.
 * @param {Member} member
 * @returns {[dot: string, words: string]}
 */
function state(member) {
  if (member.disabled) return ['.off', t('Disabled')];
  if (member.password === 'none') return ['.off', t('No password yet')];
  if (!member.online) return ['.off', t('Offline')];
  const load = member.load ?? 0;
  if (member.available === false) {
    return ['.warn', load === 1 ? t('Unavailable, 1 conversation')
      : t('Unavailable, {} conversations', load)];
  }
  return ['', load === 1 ? t('Available, 1 conversation') : t('Available, {} conversations', load)];
}

/**
 * How a new member gets a password.
 * @param {MemberForm} form
 * @param {boolean} sendsMail
 */
function invitation(form, sendsMail) {
  const explain = el('p.hint');
  const follow = () => {
    explain.hidden = sendsMail && form.now.byMail;
    explain.textContent = t('A password is created and shown to you once, to pass on. It must be changed at the first login.');
  };
  form.onChange(follow);
  follow();
  return el('div.stack', {},
    sendsMail ? toggle(form, 'byMail', {
      label: t('Send the invitation by e-mail'),
      hint: t('With a link to set a password. It counts once, for 7 days.'),
    }) : el('p.hint', {}, t('This gateway sends no e-mail, so you pass the login details on yourself.')),
    explain);
}

/**
 * @param {MemberForm} form
 * @param {Member} member
 * @param {boolean} isNew
 * @param {{me: Login['operator'], mayWrite: boolean, isLast: boolean, sendsMail: boolean,
 *   renew: () => unknown, reset: () => unknown}} on
 *   `isLast`: the member is the only owner; `sendsMail`: the gateway sends e-mail
 */
function fields(form, member, isNew, { me, mayWrite, isLast, sendsMail, renew, reset }) {
  if (!mayWrite) form.locked ||= t('Only an owner can change an owner.');
  const roles = Object.keys(ROLES).filter((role) => role !== 'owner' || me.role === 'owner'
    || member.role === 'owner');
  const explain = el('p.hint');
  const follow = () => { explain.textContent = MAY[form.now.role] ?? ''; };
  form.onChange(follow);
  follow();
  return [
    text(form, 'name', { label: t('Name'), hint: t('Visible to visitors.'), max: 100, required: true }),
    isNew
      ? text(form, 'email', {
        label: t('Email'),
        hint: t('Used to log in.'),
        type: 'email',
        max: 254,
        required: true,
      })
      : el('dl.facts', {}, el('dt', {}, t('Email')), el('dd', {}, member.email)),
    isLast
      ? el('dl.facts', {}, el('dt', {}, t('Role')),
        el('dd', {}, t('Owner, and the only one. To change this, make someone else an owner first.')))
      : choice(form, 'role', { label: t('Role'), options: roles.map((role) => [role, ROLES[role]]) }),
    !isLast && explain,
    !isNew && !isLast && member.id !== me.id && toggle(form, 'enabled', {
      label: t('Can log in'),
      hint: t('If off, all their devices are logged out within seconds, and their conversations return to the queue.'),
    }),
    isNew && invitation(form, sendsMail),
    !isNew && !form.locked && member.id !== me.id && el('div.field', {},
      el('span.label', {}, t('Password')),
      confirmed(
        t('Reset password'),
        t('The old password stops working. The new one works for one login.'),
        renew,
      )),
    !isNew && me.role === 'owner' && member.id !== me.id && member.second_factor
      && el('div.field', {},
        el('span.label', {}, t('Two-factor login')),
        confirmed(
          t('Reset two-factor login'),
          t('They log in with the password alone until they set it up again. Their devices are logged out.'),
          reset,
        )),
  ];
}

/** @param {string} name */
function checkName(name) {
  if (!name.trim()) throw refusal('name', t('Enter a name. Visitors see it.'));
}

/**
 * @param {SettingsContext} context
 * @param {Values} values
 * @returns {Promise<Saved>}
 */
async function invite({ rest }, { name, email, role, byMail }) {
  checkName(name);
  if (!/^\S+@\S+$/.test(email.trim())) {
    throw refusal('email', t('Enter a valid email address.'));
  }
  const secret = password();
  const answer = await rest.post('members', {
    name: name.trim(),
    email: email.trim(),
    role,
    ...(byMail ? { invite: true } : { password: secret }),
  }).catch((error) => {
    // the email is taken, or cannot be used
    if (error instanceof Problem && error.status === 409) error.path = 'email';
    throw error;
  });
  return { item: answer.member, secret: byMail ? BY_MAIL : secret };
}

/**
 * @param {SettingsContext} context
 * @param {Values} values
 * @param {Member} member
 * @returns {Promise<Saved>}
 */
async function change({ rest }, { name, role, enabled }, member) {
  checkName(name);
  /** @type {Partial<Member>} */
  const changed = {};
  if (name.trim() !== member.name) changed.name = name.trim();
  if (role !== member.role) changed.role = role;
  if (enabled === member.disabled) changed.disabled = !enabled;
  const answer = await rest.patch(`members/${member.id}`, changed);
  Object.assign(member, answer?.member ?? changed);
  return { item: { ...member } };
}

/** @type {Member} */
const BLANK = { id: '', name: '', email: '', role: 'agent', disabled: false, online: false,
  available: true, load: 0, password: 'none', second_factor: false };

/** @param {SettingsContext} context */
export async function open(context) {
  const me = context.session().operator;
  // Only administrators may ask, and only they invite.
  const { configured: sendsMail } = isAdmin(context) ? await context.rest.get('mail')
    : { configured: false };
  /** @type {Member[]} */
  let list = [];
  /** @param {Member} member */
  const isLast = (member) => member.role === 'owner' && !member.disabled
    && list.filter(({ role, disabled }) => role === 'owner' && !disabled).length === 1;
  /** @param {Member} member */
  const mayWrite = (member) => me.role === 'owner' || member.role !== 'owner';

  /** @type {(editor: Editor) => Promise<void>} */
  const renewed = (editor) => renew(context, (id, words) => page.showOnce(id, words), editor);
  const page = await collection(context, {
    name: 'members',
    title: t('Members'),
    lead: t('Who replies to visitors, and who can change settings.'),
    one: t('Member'),
    make: t('Invite a member'),
    verb: t('Invite'),
    look: 'users',
    empty: [t('No members yet'), t('Invite the people who reply to your visitors.')],
    load: async () => {
      list = await every((query) => context.rest.get('members', query), 'members');
      return list;
    },
    key: ({ id }) => id,
    /** @returns {Values} */
    values: (member) => ({ ...member, enabled: !member.disabled, byMail: sendsMail }),
    blank: () => ({ ...BLANK }),
    heading: ({ name }) => name,
    row(member) {
      const [dot, words] = state(member);
      return {
        lead: face({ ...member, kind: 'operator' }),
        title: member.id === me.id ? t('{} (you)', member.name) : member.name,
        meta: member.email,
        text: member.email,
        side: el('span.two', {}, el('span', {}, ROLES[member.role]),
          el('span.meta', {}, el(`span.dot${dot}`), words)),
      };
    },
    fields: (form, member, isNew, editor) => fields(form, member, isNew, {
      me,
      mayWrite: isNew || mayWrite(member),
      isLast: !isNew && isLast(member),
      sendsMail,
      renew: () => renewed(editor),
      reset: () => reset(context, editor),
    }),
    save: (form, member, isNew) => isNew
      ? invite(context, form.now) : change(context, form.now, member),
    onceRead: (made) => made === BY_MAIL ? t('Done') : undefined,
    once: (made, item) => made === BY_MAIL ? invited(item) : secret(item, made),
    remove: (member) => context.rest.remove(`members/${member.id}`),
    removal: [t('Remove'), ({ name }) => t('Remove {} from the workspace?', name)],
  });

  return page;
}

/**
 * @param {SettingsContext} context
 * @param {(id: string, words: HTMLElement) => void} showOnce
 * @param {Editor} editor
 */
async function renew({ rest }, showOnce, { item, form }) {
  const made = password();
  try {
    await rest.patch(`members/${item.id}`, { password: made });
    showOnce(item.id, secret(item, made));
  } catch (error) {
    form.fault(error);
  }
}

/**
 * @param {SettingsContext} context
 * @param {Editor} editor
 */
async function reset({ rest }, { item, form }) {
  try {
    await rest.post(`members/${item.id}/reset-second-factor`);
    item.second_factor = false;
    form.done = t('Two-factor login is reset.');
    form.changed();
  } catch (error) {
    form.fault(error);
  }
}

/** @param {Member} member */
function invited({ name, email }) {
  return el('div.field', {},
    el('h2', {}, t('{} is invited', name)),
    el('p', {}, t('An e-mail to {} is on its way. Until the link in it is used, the member has no password.', email)),
    el('p.hint', {}, t('Settings → E-mail shows what became of it. If it does not arrive, reset the password here and pass it on.')));
}

/**
 * @param {Member} member
 * @param {string} made the new password
 */
function secret({ name, email }, made) {
  return el(
    'div.field',
    {},
    el('h2', {}, t('{} can log in now', name)),
    el('p', {}, t('This password is shown only once and works for one login, at which they choose their own. Pass it on privately.')),
    el('dl.facts', {}, el('dt', {}, t('Console')), el('dd', {}, `${location.origin}/console`),
      el('dt', {}, t('Email')), el('dd', {}, email)),
    el('pre.code', { 'aria-label': t('Password') }, made),
    copyable(`${location.origin}/console\n${email}\n${made}`, t('Copy login details')),
  );
}
