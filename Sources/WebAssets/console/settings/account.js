// The operator's own account: name, email, role, and the change of the password.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { Problem } from '../shell/api.js';
import { PASSWORD_MIN } from '../shell/own-password.js';
import { text } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { pane } from './pane.js';
import { ROLES } from './roles.js';

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {import('./pane.js').SettingsPage}
 */
export function open(context) {
  const { operator, workspace } = context.session();
  const form = new Form({ current: '', new: '', again: '' });
  const save = () => form.save(async () => {
    const { current, new: fresh, again } = form.now;
    if (!current) throw refusal('current', t('Enter your current password.'));
    if (fresh.length < PASSWORD_MIN) {
      throw refusal('new', t('Use at least {} characters.', PASSWORD_MIN));
    }
    if (fresh !== again) throw refusal('again', t('The passwords do not match.'));
    await context.rest.post('/api/v1/auth/password', { current, new: fresh }).catch((error) => {
      if (error instanceof Problem) {
        const path = { wrong_password: 'current', weak_password: 'new', same_password: 'new' }[error.code ?? ''];
        if (path) error.path = path;
      }
      throw error;
    });
    return { current: '', new: '', again: '' };
  }, t('Password changed. Your other devices are logged out.'));
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save, verb: t('Change password') });
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
      title: t('Your account'),
      lead: t('Your profile, and the password you log in with.'),
      submit,
      bar,
      body: [
        el('dl.facts', {},
          el('dt', {}, t('Name')), el('dd', {}, operator.name),
          el('dt', {}, t('Email')), el('dd', {}, operator.email),
          el('dt', {}, t('Role')), el('dd', {}, ROLES[operator.role]),
          el('dt', {}, t('Workspace')), el('dd', {}, workspace.name)),
        el('h2', {}, t('Password')),
        secret('current', t('Current password'), 'current-password'),
        secret('new', t('New password'), 'new-password',
          t('At least {} characters. A sentence works well.', PASSWORD_MIN)),
        secret('again', t('Repeat new password'), 'new-password'),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}
