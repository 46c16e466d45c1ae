// How the operator logs in, and where they are logged in now; and what the workspace demands.

import { toggle } from './fields.js';
import { Form, saveBar } from './form.js';
import { limitTable } from './limits.js';
import { loginList } from './login-list.js';
import { isAdmin, pane } from './pane.js';
import { secondFactor } from './second-factor.js';
import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const logins = loginList(context);
  const factor = secondFactor(() => { logins.load(); });
  const rules = isAdmin(context) ? await workspaceRules(context, factor.load) : null;
  return {
    root: pane({
      title: t('Security'),
      lead: t('How you log in, and where you are logged in now.'),
      body: [...factor.roots, logins.root, rules?.root, rules?.limits],
    }),
    show: () => {
      factor.load();
      logins.load();
    },
    unsaved: () => rules?.form.changes.length ?? 0,
  };
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @param {() => void} saved
 */
async function workspaceRules(context, saved) {
  const known = await context.workspace.load();
  const form = new Form({ security: known.settings.security });
  const save = () => form.save(async () => {
    const { settings } = await context.workspace.save({ security: form.now.security });
    saved();
    return { security: settings.security };
  });
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save });
  return {
    form,
    limits: known.limits && limitTable(known.limits),
    root: el('form.panel', { 'aria-labelledby': 'rules', novalidate: true, submit },
      el('h2', { id: 'rules' }, t('For all members of the workspace')),
      toggle(form, 'security.require_second_factor', {
        label: t('Require two-factor login'),
        hint: t('Members without it set it up at their next login'),
      }),
      bar),
  };
}
