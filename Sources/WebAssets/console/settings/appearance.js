// How the widget looks, the line that puts it on a site, and what visitors will see.

import { el, icon } from '../../shared/dom.js';
import { Form, refusal, saveBar, uid } from './form.js';
import { choice, copyable, select, text, toggle } from './fields.js';
import { Preview } from './preview.js';
import { lockedFor, pane } from './pane.js';

const OWN = '#0b6e63';
const LEAST = 4.5; // white text on the accent, WCAG 2.2 SC 1.4.3
const SWATCHES = [
  ['#0b6e63', 'Swift teal'], ['#14532d', 'Forest'], ['#1f4b7f', 'Harbour'],
  ['#7d3c6e', 'Plum'], ['#9a3412', 'Brick'], ['#27292b', 'Graphite'],
];
export const LOCALES = [
  ['auto', 'Automatic (the visitor’s browser)'], ['en', 'English'], ['de', 'Deutsch'],
  ['es', 'Español'], ['ar', 'العربية'], ['ja', '日本語'], ['th', 'ไทย'],
];

/** Contrast of white on a colour like #0b6e63, or 0 if it is none. */
export function contrast(colour) {
  const parts = /^#(..)(..)(..)$/.exec(colour);
  if (!parts || !/^#[0-9a-f]{6}$/i.test(colour)) return 0;
  const [red, green, blue] = parts.slice(1).map((part) => {
    const value = parseInt(part, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

const ratio = (value) => `${(Math.floor(value * 10) / 10).toFixed(1)}\u00a0:\u00a01`;

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
      const accent = widget.accent ?? OWN;
      if (contrast(accent) < LEAST) {
        throw refusal('widget.accent', contrast(accent)
          ? `White text on it has a contrast of ${ratio(contrast(accent))}. Choose a darker colour.`
          : 'Enter # and six hex digits, for example #0b6e63.');
      }
      const greeting = widget.greeting?.title || widget.greeting?.text
        ? { title: widget.greeting.title ?? '', text: widget.greeting.text ?? '' } : null;
      const changed = { widget: { ...widget, greeting } };
      if (form.changes.some((path) => path.startsWith('queue.'))) Object.assign(changed, { queue });
      const sites = form.changes.includes('origins')
        ? { allowed_origins: checkedOrigins(origins) } : {};
      return values(await context.workspace.save(changed, sites));
    }, 'Saved. Visitors see it on their next page.');
  }

  function follow() {
    const { widget, queue } = form.now;
    const { accent, name } = widget;
    preview.update({
      ...widget,
      workspace: { name: name || known.workspace?.name || 'Chat' },
      name: name || known.workspace?.name || 'Chat',
      accent: accent && contrast(accent) >= LEAST ? accent : null,
      greeting: widget.greeting?.title || widget.greeting?.text ? widget.greeting : null,
      offline: known.settings.offline,
      rating: known.settings.rating,
      queue: { show_position: queue.show_position },
      menu: null,
    });
  }

  form.heard(() => { follow(); context.changed(); });
  const root = pane({
    title: 'Appearance',
    lead: 'How the widget looks. The preview changes as you type; visitors see changes after you save.',
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

/** What can be set, and the line that puts the widget on a site. */
const fields = (form, known) => [
  ...looks(form, known),
  el('hr'),
  snippetField(known.public_key),
  text(form, 'origins', {
    label: 'Allowed sites',
    hint: 'One per line, for example https://shop.example.com. Leave empty to allow every site.',
    area: true,
    code: true,
    rows: 3,
  }),
];

/** What visitors see. */
const looks = (form, known) => [
  text(form, 'widget.name', {
    label: 'Name in the header',
    hint: `Leave empty to show the workspace’s name, ${known.workspace?.name ?? ''}.`,
    max: 80,
    empty: null,
  }),
  text(form, 'widget.greeting.title', { label: 'Greeting', max: 120 }),
  text(form, 'widget.greeting.text', {
    label: 'Text below the greeting',
    hint: 'For example, how soon you reply. Shown above the first message.',
    area: true,
    rows: 2,
    max: 500,
  }),
  accent(form),
  el(
    'div.pair',
    {},
    choice(form, 'widget.position', {
      label: 'Position',
      options: [['left', 'Left'], ['right', 'Right']],
    }),
    choice(form, 'widget.theme', {
      label: 'Theme',
      options: [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']],
    }),
  ),
  select(form, 'widget.locale', {
    label: 'Language',
    hint: 'For the widget’s own texts. Your greeting is not translated.',
    options: LOCALES,
  }),
  toggle(form, 'queue.show_position', {
    label: 'Show the position in the queue',
    hint: 'With an estimated waiting time',
  }),
  toggle(form, 'widget.preview', {
    label: 'Show operators what visitors type',
    hint: 'Live, before the message is sent',
  }),
  toggle(form, 'widget.sound', {
    label: 'Play a sound for new messages',
    hint: 'While the visitor is not looking at the chat',
  }),
  toggle(form, 'widget.teaser', {
    label: 'Preview new messages next to the chat button',
    hint: 'Two lines, until the visitor clicks anywhere',
  }),
];

/** @param {string} key */
function snippetField(key) {
  const snippet = `<script src="${location.origin}/widget.js"\n`
    + `  data-workspace="${key}" async></script>`;
  const snippetName = uid();
  return el(
    'div.field',
    {},
    el('span.label', { id: snippetName }, 'Snippet'),
    el('pre.code', {
      role: 'group',
      tabindex: 0,
      'aria-labelledby': snippetName,
    }, snippet),
    el('p.hint', {}, 'Paste it into every page that should show the chat, before </body>.'),
    copyable(snippet, 'Copy snippet'),
  );
}

function values({ settings, allowed_origins: origins }) {
  const { widget, queue } = settings;
  return {
    widget: { ...widget, greeting: { title: '', text: '', ...widget.greeting } },
    queue,
    origins: (origins ?? []).join('\n'),
  };
}

/** Origins as the gateway compares them. @returns {string[]?} */
function checkedOrigins(lines) {
  const wanted = lines.split(/\s+/).filter(Boolean);
  const checked = wanted.map((line) => {
    let origin = '';
    try { origin = new URL(line).origin; } catch { /* said below */ }
    if (!/^https?:\/\//.test(origin)) {
      throw refusal('origins', `“${line}” is not a site address. Start with https://.`);
    }
    return origin;
  });
  return checked.length ? [...new Set(checked)] : null;
}

/** The colour: six that are right, or any other that leaves white text readable. */
function accent(form) {
  const name = uid();
  const problem = el('p.error', { id: `${name}e`, role: 'alert', hidden: true });
  const told = el('p.hint.ok', { id: `${name}h` });
  const radios = SWATCHES.map(([colour, words]) => el('input.sr-only', {
    type: 'radio',
    name,
    'aria-label': words,
    disabled: !!form.locked,
    change: () => form.put('widget.accent', colour === OWN ? null : colour),
  }));
  const control = el('input.input.mono', {
    'aria-label': 'Accent colour as a hex code',
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
    'aria-label': 'Custom colour',
    disabled: !!form.locked,
    input: () => form.put('widget.accent', other.value === OWN ? null : other.value),
  });
  const write = (value) => {
    const colour = value ?? OWN;
    radios.forEach((radio, at) => { radio.checked = SWATCHES[at][0] === colour; });
    if (document.activeElement !== control) control.value = colour;
    const has = contrast(colour);
    if (has) other.value = colour;
    const good = has >= LEAST;
    told.classList.toggle('bad', !good);
    told.replaceChildren(icon(good ? 'check' : 'alert', 'small'), has
      ? `Contrast with white text: ${ratio(has)}, at least ${LEAST}\u00a0:\u00a01 needed${
        good ? '' : '. Visitors see the default colour'}.`
      : 'Enter # and six hex digits, for example #0b6e63.');
  };
  const labels = SWATCHES.map(([colour], at) => {
    const label = el('label', {}, radios[at], icon('check', 'small'));
    label.style.setProperty('--swatch', colour);
    return label;
  });
  form.heard(() => write(form.get('widget.accent')));
  const root = el(
    'fieldset.field',
    {},
    el('legend.label', {}, 'Accent colour'),
    el('div.swatches', {}, ...labels, other, control),
    told,
    problem,
  );
  return form.bind('widget.accent', { root, control, problem, write });
}
