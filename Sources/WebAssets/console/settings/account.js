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
    if (!current) throw refusal('current', 'Enter your current password.');
    if (fresh.length < PASSWORD_MIN) {
      throw refusal('new', `Use at least ${PASSWORD_MIN} characters.`);
    }
    if (fresh !== again) throw refusal('again', 'The passwords do not match.');
    await context.rest.post('/api/v1/auth/password', { current, new: fresh }).catch((error) => {
      if (error instanceof Problem) {
        const path = { wrong_password: 'current', weak_password: 'new', same_password: 'new' }[error.code ?? ''];
        if (path) error.path = path;
      }
      throw error;
    });
    return { current: '', new: '', again: '' };
  }, 'Password changed. Your other devices are logged out.');
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save, verb: 'Change password' });
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
      lead: 'Your profile, and the password you log in with.',
      submit,
      bar,
      body: [
        el('dl.facts', {},
          el('dt', {}, 'Name'), el('dd', {}, operator.name),
          el('dt', {}, 'Email'), el('dd', {}, operator.email),
          el('dt', {}, 'Role'), el('dd', {}, operator.role[0].toUpperCase() + operator.role.slice(1)),
          el('dt', {}, 'Workspace'), el('dd', {}, workspace.name)),
        el('h2', {}, 'Password'),
        secret('current', 'Current password', 'current-password'),
        secret('new', 'New password', 'new-password',
          `At least ${PASSWORD_MIN} characters. A sentence works well.`),
        secret('again', 'Repeat new password', 'new-password'),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}
