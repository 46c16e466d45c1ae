// Who works here, and what they may do. A password that we made is shown once.

import { el } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { collection, every } from './collection.js';
import { choice, copyable, sure, text, toggle } from './fields.js';
import { refusal } from './form.js';

const ROLES = { agent: 'Agent', admin: 'Administrator', owner: 'Owner' };
const MAY = {
  agent: 'Replies to visitors and edits canned replies.',
  admin: 'Also manages settings, members, webhooks and keys.',
  owner: 'Also manages owners. A workspace always has at least one.',
};
/** Without letters and digits that look alike. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LONG = 16; // of 57 letters: 93 bits

/** A password nobody has to invent. */
export function password() {
  const limit = 256 - 256 % LETTERS.length; // every letter is as likely as any other
  let made = '';
  while (made.length < LONG) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LONG * 2))) {
      if (byte < limit && made.length < LONG) made += LETTERS[byte % LETTERS.length];
    }
  }
  return made.replace(/(.{4})(?=.)/g, '$1-');
}

export function state(member) {
  if (member.disabled) return ['.off', 'Disabled'];
  if (member.password === 'none') return ['.off', 'No password yet'];
  if (!member.online) return ['.off', 'Offline'];
  const load = member.load === 1 ? '1 conversation' : `${member.load ?? 0} conversations`;
  return member.available === false ? ['.warn', `Unavailable, ${load}`] : ['', `Available, ${load}`];
}

function fields(form, member, isNew, { me, may, last, renew }) {
  if (!may) form.locked ||= 'Only an owner can change an owner.';
  const roles = Object.keys(ROLES).filter((role) => role !== 'owner' || me.role === 'owner'
    || member.role === 'owner');
  const explain = el('p.hint');
  const follow = () => { explain.textContent = MAY[form.get('role')]; };
  form.heard(follow);
  follow();
  return [
    text(form, 'name', { label: 'Name', hint: 'Visible to visitors.', max: 100, required: true }),
    isNew
      ? text(form, 'email', {
        label: 'Email',
        hint: 'Used to log in.',
        type: 'email',
        max: 254,
        required: true,
      })
      : el('dl.facts', {}, el('dt', {}, 'Email'), el('dd', {}, member.email)),
    last
      ? el('dl.facts', {}, el('dt', {}, 'Role'),
        el('dd', {}, 'Owner, and the only one. To change this, make someone else an owner first.'))
      : choice(form, 'role', { label: 'Role', options: roles.map((role) => [role, ROLES[role]]) }),
    !last && explain,
    !isNew && !last && member.id !== me.id && toggle(form, 'enabled', {
      label: 'Can log in',
      hint: 'If off, all their devices are logged out within seconds, and their conversations return to the queue.',
    }),
    isNew && el('p.hint', {}, 'A password is created and shown to you once, to pass on. It must be changed at the first login.'),
    !isNew && !form.locked && member.id !== me.id && el('div.field', {},
      el('span.label', {}, 'Password'),
      sure('Reset password', 'The old password stops working. The new one works for one login.', renew)),
  ].filter(Boolean);
}

function named(name) {
  if (!name.trim()) throw refusal('name', 'Enter a name. Visitors see it.');
}

async function invite({ rest }, { name, email, role }) {
  named(name);
  if (!/^\S+@\S+$/.test(email.trim())) {
    throw refusal('email', 'Enter a valid email address.');
  }
  const made = password();
  const answer = await rest.post('members', {
    name: name.trim(),
    email: email.trim(),
    role,
    password: made,
  }).catch((error) => {
    if (error.status === 409) error.path = 'email'; // it is taken, or cannot be used
    throw error;
  });
  return { item: answer.member ?? answer, made };
}

async function change({ rest }, { name, role, enabled }, member) {
  named(name);
  const changed = {};
  if (name.trim() !== member.name) changed.name = name.trim();
  if (role !== member.role) changed.role = role;
  if (enabled === member.disabled) changed.disabled = !enabled;
  const answer = await rest.patch(`members/${member.id}`, changed);
  Object.assign(member, answer?.member ?? answer ?? changed);
  return { ...member };
}

export async function open(context) {
  const me = context.session().operator;
  let list = [];
  const isLast = (member) => member.role === 'owner' && !member.disabled
    && list.filter(({ role, disabled }) => role === 'owner' && !disabled).length === 1;
  const mine = (member) => me.role === 'owner' || member.role !== 'owner';

  const page = await collection(context, {
    name: 'members',
    title: 'Members',
    lead: 'Who replies to visitors, and who can change settings.',
    noun: 'member',
    make: 'Invite a member',
    verb: 'Invite',
    look: 'users',
    empty: ['No members yet', 'Invite the people who reply to your visitors.'],
    load: async () => (list = await every(context.rest, 'members', 'members')),
    key: ({ id }) => id,
    values: (member) => ({ ...member, enabled: !member.disabled }),
    blank: () => ({ name: '', email: '', role: 'agent', disabled: false }),
    heading: ({ name }) => name,
    row(member) {
      const [dot, words] = state(member);
      return {
        lead: face({ ...member, kind: 'operator' }),
        title: member.id === me.id ? `${member.name} (you)` : member.name,
        meta: member.email,
        text: member.email,
        side: el('span.two', {}, el('span', {}, ROLES[member.role]),
          el('span.meta', {}, el(`span.dot${dot}`), words)),
      };
    },
    fields: (form, member, isNew, editor) => fields(form, member, isNew, {
      me,
      may: isNew || mine(member),
      last: !isNew && isLast(member),
      renew: () => renew(editor),
    }),
    save: (form, member, isNew) => isNew
      ? invite(context, form.now) : change(context, form.now, member),
    once: ({ made }, item) => made && secret(item, made),
    remove: (member) => context.rest.remove(`members/${member.id}`),
    removal: ['Remove', ({ name }) => `Remove ${name} from the workspace?`],
  });

  async function renew({ item, form }) {
    const made = password();
    try {
      await context.rest.patch(`members/${item.id}`, { password: made });
      page.tell(item.id, secret(item, made));
    } catch (error) {
      form.fault(error);
    }
  }

  return page;
}

function secret({ name, email }, made) {
  return el(
    'div.field',
    {},
    el('h2', {}, `${name} can log in now`),
    el('p', {}, 'This password is shown only once and works for one login, at which they choose their own. Pass it on privately.'),
    el('dl.facts', {}, el('dt', {}, 'Console'), el('dd', {}, `${location.origin}/console`),
      el('dt', {}, 'Email'), el('dd', {}, email)),
    el('pre.code', { 'aria-label': 'Password' }, made),
    copyable(`${location.origin}/console\n${email}\n${made}`, 'Copy login details'),
  );
}
