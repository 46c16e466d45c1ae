// The second step: the look of the widget, with a preview.

import { t } from '../shell/language.js';
import { accentField, checkAccent, filledGreeting, previewConfig } from '../settings/appearance.js';
import { choice, text } from '../settings/fields.js';
import { Form } from '../settings/form.js';
import { Preview } from '../settings/preview.js';

/**
 * @param {import('./main.js').SetupContext} context
 * @returns {Promise<import('./main.js').Step>}
 */
export async function look({ workspace }) {
  const known = await workspace.load();
  const { widget } = known.settings;
  /** @type {Form<{widget: WidgetSettings}>} */
  const form = new Form({
    widget: { ...widget, greeting: { title: '', text: '', ...widget.greeting } },
  });
  const preview = new Preview({ inPage: true });
  const follow = () => {
    preview.update(previewConfig(form.now.widget, known.settings.queue, known));
  };
  form.onChange(follow);
  return {
    title: t('Name and colours'),
    lead: t('What visitors see in the corner of your site.'),
    verb: t('Save and go on'),
    form,
    fields: [
      text(form, 'widget.name', {
        label: t('Name in the header'),
        hint: t('Leave empty to show the workspace’s name, {}.', known.workspace.name),
        max: 80,
        empty: null,
      }),
      text(form, 'widget.greeting.title', { label: t('Greeting'), max: 120 }),
      text(form, 'widget.greeting.text', { label: t('Text below the greeting'), max: 500 }),
      accentField(form),
      choice(form, 'widget.position', {
        label: t('Position'),
        options: [['left', t('Left')], ['right', t('Right')]],
      }),
    ],
    aside: preview.root,
    follow,
    save: () => form.save(async () => {
      const now = form.now.widget;
      checkAccent(now.accent);
      await workspace.save({ widget: { ...now, greeting: filledGreeting(now.greeting) } });
      return undefined;
    }),
  };
}
