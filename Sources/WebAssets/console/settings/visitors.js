// The page for watching: whether operators see who is on the site, and the snippet that allows it.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { copyable, toggle } from './fields.js';
import { Form, saveBar, uid } from './form.js';
import { lockedFor, pane } from './pane.js';

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form({ watching: known.settings.watching }, {
    keep: `${context.session().operator.id}:visitors`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    const { settings } = await context.workspace.save({ watching: form.now.watching });
    return { watching: settings.watching };
  });
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save });
  return {
    root: pane({
      title: t('Visitors on the site'),
      lead: t('See who is on your site now, and let the widget speak first.'),
      submit,
      bar,
      body: [
        toggle(form, 'watching.enabled', {
          label: t('Show who is on the site'),
          hint: t('Also turns proactive messages on'),
        }),
        snippet(known.public_key),
        el('div.field', {},
          el('span.label', {}, t('What a page sends')),
          el('p.hint', {}, t('Address without its query, title, referrer, campaign, and a random number of the browser, every 10 seconds to 3 minutes while its tab is shown. After the visit, the number is stored with the proactive messages that it has shown, for a year, and with the conversation if they write to you.')),
          el('p.hint', {}, t('Browsers with Do Not Track or Global Privacy Control send nothing. Mention it in your privacy notice; ask for consent first where the law requires it, and add data-watch only then.'))),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}

/** @param {string} key the workspace's public key */
function snippet(key) {
  const text = `<script src="${location.origin}/widget.js"\n`
    + `  data-workspace="${key}" data-watch async></script>`;
  const name = uid();
  return el('div.field', {},
    el('span.label', { id: name }, t('Snippet')),
    el('pre.code', { role: 'group', tabindex: 0, 'aria-labelledby': name }, text),
    el('p.hint', {}, t('Pages whose snippet has data-watch take part, others send nothing.')),
    copyable(text, t('Copy snippet')));
}
