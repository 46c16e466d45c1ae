// The operator's own account: name, email, role, and the change of the password.

import { el } from '../../shared/dom.js';
import { Problem } from '../shell/api.js';
import { PASSWORD_MIN } from '../shell/own-password.js';
import { text } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { pane } from './pane.js';

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {import('./pane.js').SettingsPage}
 */
export function open(context) {
  const { operator, workspace } = context.session();
  const form = new Form({ current: '', new: '', again: '' });
  const save = () => form.save(async () => {
    const { current, new: fresh, again } = form.now;
    if (!current) throw refusal('current', 'Write the password you log in with now.');
    if (fresh.length < PASSWORD_MIN) {
      throw refusal('new', `At least ${PASSWORD_MIN} characters.`);
    }
    if (fresh !== again) throw refusal('again', 'The two are not the same.');
    await context.rest.post('/api/v1/auth/password', { current, new: fresh }).catch((error) => {
      if (error instanceof Problem && error.code === 'wrong_password') error.path = 'current';
      throw error;
    });
    return { current: '', new: '', again: '' };
  }, 'Changed. Other devices are logged out.');
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save, verb: 'Change the password' });
  /** @type {(path: string, label: string, autocomplete: string, hint?: string) => HTMLElement} */
  const secret = (path, label, autocomplete, hint) => text(form, path, {
    label,
    hint,
    type: 'password',
    autocomplete,
    secret: true,
    max: 1024,
  });
  return {
    root: pane({
      title: 'Your account',
      lead: 'What others see of you, and how you log in.',
      submit,
      bar,
      body: [
        el('dl.facts', {},
          el('dt', {}, 'Name'), el('dd', {}, operator.name),
          el('dt', {}, 'Email'), el('dd', {}, operator.email),
          el('dt', {}, 'Role'), el('dd', {}, operator.role[0].toUpperCase() + operator.role.slice(1)),
          el('dt', {}, 'Workspace'), el('dd', {}, workspace.name)),
        el('h3', {}, 'Password'),
        secret('current', 'Password now', 'current-password'),
        secret('new', 'New password', 'new-password',
          `At least ${PASSWORD_MIN} characters. A sentence is good.`),
        secret('again', 'New password again', 'new-password'),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}
