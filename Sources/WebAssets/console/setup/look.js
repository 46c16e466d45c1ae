// The second step: the look of the widget, with a preview.

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
    title: 'Name and colours',
    lead: 'What visitors see in the corner of your site.',
    verb: 'Save and go on',
    form,
    fields: [
      text(form, 'widget.name', {
        label: 'Name in the header',
        hint: `Leave empty to show the workspace’s name, ${known.workspace.name}.`,
        max: 80,
        empty: null,
      }),
      text(form, 'widget.greeting.title', { label: 'Greeting', max: 120 }),
      text(form, 'widget.greeting.text', { label: 'Text below the greeting', max: 500 }),
      accentField(form),
      choice(form, 'widget.position', {
        label: 'Position',
        options: [['left', 'Left'], ['right', 'Right']],
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
