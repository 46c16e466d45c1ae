// The page for the look of the widget, with a preview and the snippet for a site.

import { el, icon } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { Form, refusal, saveBar, uid } from './form.js';
import { choice, copyable, select, text, toggle } from './fields.js';
import { Preview } from './preview.js';
import { lockedFor, pane } from './pane.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/**
 * The values of the page: `origins` are one a line.
 * @typedef {{widget: WidgetSettings, queue: QueueSettings, origins: string}} Values
 */
/** @typedef {Form<Values>} PageForm */

const OWN = '#0b6e63'; // the widget's own accent, which is stored as null
const CONTRAST_MIN = 4.5; // of white text on the accent (WCAG 2.2 SC 1.4.3)
const SWATCHES = [
  ['#0b6e63', t('Swift teal')], ['#14532d', t('Forest')], ['#1f4b7f', t('Harbour')],
  ['#7d3c6e', t('Plum')], ['#9a3412', t('Brick')], ['#27292b', t('Graphite')],
];
/** @type {[value: string, words: string][]} */
const LOCALES = [
  ['auto', t('Automatic (the visitor’s browser)')], ['en', 'English'], ['de', 'Deutsch'],
  ['es', 'Español'], ['ar', 'العربية'], ['ja', '日本語'], ['th', 'ไทย'],
];

/**
 * The contrast of white on a colour like #0b6e63, 0 if it is none.
 * @param {string} colour
 */
function contrast(colour) {
  const parts = /^#(..)(..)(..)$/.exec(colour);
  if (!parts || !/^#[0-9a-f]{6}$/i.test(colour)) return 0;
  const [red, green, blue] = parts.slice(1).map((part) => {
    const value = parseInt(part, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

const tenths = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 1, maximumFractionDigits: 1,
});
/** @param {number} value */
const ratio = (value) => `${tenths.format(Math.floor(value * 10) / 10)}\u00a0:\u00a01`;

/**
 * @param {SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form(values(known), {
    keep: `${context.session().operator.id}:appearance`,
    locked: lockedFor(context),
  });
  const preview = new Preview();
  const { bar, submit } = saveBar(form, { save });

  async function save() {
    await form.save(async () => {
      const { widget, queue, origins } = form.now;
      checkAccent(widget.accent);
      /** @type {Partial<WorkspaceSettings>} */
      const changed = { widget: { ...widget, greeting: filledGreeting(widget.greeting) } };
      if (form.changes.some((path) => path.startsWith('queue.'))) changed.queue = queue;
      const sites = form.changes.includes('origins')
        ? { allowed_origins: checkedOrigins(origins) } : {};
      return values(await context.workspace.save(changed, sites));
    }, t('Saved. Visitors see it on their next page.'));
  }

  function follow() {
    preview.update(previewConfig(form.now.widget, form.now.queue, known));
  }

  form.onChange(() => { follow(); context.changed(); });
  const root = pane({
    title: t('Appearance'),
    lead: t('How the widget looks. The preview changes as you type; visitors see changes after you save.'),
    submit,
    bar,
    body: fields(form, known),
  });
  return {
    root,
    aside: preview.root,
    show: () => { follow(); preview.shown(); },
    unsaved: () => form.changes.length,
  };
}

/**
 * The configuration of a preview with these values.
 * @param {WidgetSettings} widget
 * @param {QueueSettings} queue
 * @param {SettingsAnswer} known
 * @returns {import('./preview.js').PreviewConfig}
 */
export const previewConfig = (widget, queue, { settings, workspace }) => ({
  ...widget,
  workspace: { name: widget.name || workspace?.name || 'Chat' },
  accent: widget.accent && contrast(widget.accent) >= CONTRAST_MIN ? widget.accent : null,
  greeting: filledGreeting(widget.greeting),
  offline: settings.offline,
  rating: settings.rating,
  queue,
  menu: null,
});

/**
 * Refuses an accent on which white text cannot be read.
 * @param {string?} accent null: the widget's own
 */
export function checkAccent(accent) {
  const has = contrast(accent ?? OWN);
  if (has >= CONTRAST_MIN) return;
  throw refusal('widget.accent', has
    ? t('White text on it has a contrast of {}. Choose a darker colour.', ratio(has))
    : t('Enter # and six hex digits, for example #0b6e63.'));
}

/**
 * A greeting with any text, else null.
 * @param {Greeting?} greeting
 */
export const filledGreeting = (greeting) => (greeting?.title || greeting?.text
    ? { title: greeting.title ?? '', text: greeting.text ?? '' } : null);

/**
 * @param {PageForm} form
 * @param {SettingsAnswer} known
 * @returns {HTMLElement[]}
 */
const fields = (form, known) => [
  ...looks(form, known),
  el('hr'),
  snippetField(known.public_key),
  text(form, 'origins', {
    label: t('Allowed sites'),
    hint: t('One per line, for example https://shop.example.com. Leave empty to allow every site.'),
    area: true,
    code: true,
    rows: 3,
  }),
];

/**
 * The fields for the look of the widget.
 * @param {PageForm} form
 * @param {SettingsAnswer} known
 * @returns {HTMLElement[]}
 */
const looks = (form, known) => [
  text(form, 'widget.name', {
    label: t('Name in the header'),
    hint: t('Leave empty to show the workspace’s name, {}.', known.workspace?.name ?? ''),
    max: 80,
    empty: null,
  }),
  text(form, 'widget.greeting.title', { label: t('Greeting'), max: 120 }),
  text(form, 'widget.greeting.text', {
    label: t('Text below the greeting'),
    hint: t('For example, how soon you reply. Shown above the first message.'),
    area: true,
    rows: 2,
    max: 500,
  }),
  accentField(form),
  el(
    'div.pair',
    {},
    choice(form, 'widget.position', {
      label: t('Position'),
      options: [['left', t('Left|side')], ['right', t('Right|side')]],
    }),
    choice(form, 'widget.theme', {
      label: t('Theme'),
      options: [['auto', t('Auto')], ['light', t('Light')], ['dark', t('Dark')]],
    }),
  ),
  select(form, 'widget.locale', {
    label: t('Language'),
    hint: t('For the widget’s own texts. Your greeting is not translated.'),
    options: LOCALES,
  }),
  toggle(form, 'queue.show_position', {
    label: t('Show the position in the queue'),
    hint: t('During business hours while an operator is available, with an estimated wait'),
  }),
  toggle(form, 'widget.preview', {
    label: t('Show operators what visitors type'),
    hint: t('Live, before the message is sent'),
  }),
  toggle(form, 'widget.sound', {
    label: t('Play a sound for new messages'),
    hint: t('While the visitor is not looking at the chat'),
  }),
  toggle(form, 'widget.teaser', {
    label: t('Preview new messages next to the chat button'),
    hint: t('Two lines, until the visitor clicks anywhere'),
  }),
];

/** @param {string} key the workspace's public key */
export function snippetField(key) {
  const snippet = `<script src="${location.origin}/widget.js"\n`
    + `  data-workspace="${key}" async></script>`;
  const snippetName = uid();
  return el(
    'div.field',
    {},
    el('span.label', { id: snippetName }, t('Snippet')),
    el('pre.code', {
      role: 'group',
      tabindex: 0,
      'aria-labelledby': snippetName,
    }, snippet),
    el('p.hint', {}, t('Paste it into every page that should show the chat, before </body>.')),
    copyable(snippet, t('Copy snippet')),
  );
}

/**
 * @param {SettingsAnswer} answer
 * @returns {Values}
 */
function values({ settings, allowed_origins: origins }) {
  const { widget, queue } = settings;
  return {
    widget: { ...widget, greeting: { title: '', text: '', ...widget.greeting } },
    queue,
    origins: (origins ?? []).join('\n'),
  };
}

/**
 * The origins of the lines, null for none.
 * @param {string} lines
 * @returns {string[]?}
 */
function checkedOrigins(lines) {
  const wanted = lines.split(/\s+/).filter(Boolean);
  const checked = wanted.map((line) => {
    let origin = '';
    try { origin = new URL(line).origin; } catch { /* refused below */ }
    if (!/^https?:\/\//.test(origin)) {
      throw refusal('origins', t('“{}” is not a site address. Start with https://.', line));
    }
    return origin;
  });
  return checked.length ? [...new Set(checked)] : null;
}

/** @param {number} has the contrast; 0: of no colour */
function contrastWords(has) {
  if (!has) return t('Enter # and six hex digits, for example #0b6e63.');
  const words = t('Contrast with white text: {1}, at least {2} needed.', ratio(has),
    ratio(CONTRAST_MIN));
  return has >= CONTRAST_MIN ? words : `${words} ${t('Visitors see the default colour.')}`;
}

/**
 * The accent: one of six swatches, or any other colour on which white text is readable.
 * @param {import('./form.js').Form<{widget: WidgetSettings}>} form
 */
export function accentField(form) {
  const name = uid();
  const problem = el('p.error', { id: `${name}e`, role: 'alert', hidden: true });
  const status = el('p.hint.ok', { id: `${name}h` });
  const radios = SWATCHES.map(([colour, words]) => el('input.sr-only', {
    type: 'radio',
    name,
    'aria-label': words,
    disabled: !!form.locked,
    change: () => { form.put('widget.accent', colour === OWN ? null : colour); },
  }));
  const control = el('input.input.mono', {
    'aria-label': t('Accent colour as a hex code'),
    'aria-describedby': `${name}h ${name}e`,
    maxlength: 7,
    spellcheck: 'false',
    disabled: !!form.locked,
    input: () => {
      const value = control.value.trim().toLowerCase();
      const full = value && !value.startsWith('#') ? `#${value}` : value;
      form.put('widget.accent', !full || full === OWN ? null : full);
    },
  });
  const other = el('input.other', {
    type: 'color',
    'aria-label': t('Custom colour'),
    disabled: !!form.locked,
    input: () => { form.put('widget.accent', other.value === OWN ? null : other.value); },
  });
  /** @param {unknown} value */
  const write = (value) => {
    const colour = String(value ?? OWN);
    radios.forEach((radio, at) => { radio.checked = SWATCHES[at][0] === colour; });
    if (document.activeElement !== control) control.value = colour;
    const has = contrast(colour);
    if (has) other.value = colour;
    const isReadable = has >= CONTRAST_MIN;
    status.classList.toggle('bad', !isReadable);
    status.replaceChildren(icon(isReadable ? 'check' : 'alert', 'small'), contrastWords(has));
  };
  const labels = SWATCHES.map(([colour], at) => {
    const label = el('label', {}, radios[at], icon('check', 'small'));
    label.style.setProperty('--swatch', colour);
    return label;
  });
  form.onChange(() => write(form.get('widget.accent')));
  const root = el(
    'fieldset.field',
    {},
    el('legend.label', {}, t('Accent colour')),
    el('div.swatches', {}, ...labels, other, control),
    status,
    problem,
  );
  return form.bind('widget.accent', { root, control, problem, write });
}
