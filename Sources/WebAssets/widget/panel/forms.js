// The forms before a chat, outside the opening hours, and after a chat; cards, quick replies and
// the menu. The browser validates the fields and shows its own messages. The app loads this file
// when the workspace or the conversation has something of it. It has its own copy of the modules
// that it shares with the app; the app hands over its words.

import { CIRCLE, el, icon, paths } from '../../shared/dom.js';
import { list } from './list.js';
import { menu, quickReplies, richContent } from './rich-content.js';

/** @type {typeof import('../words.js').say} */
let say;

const GRADES = /** @type {const} */ (['bad', 'poor', 'fair', 'good', 'great']);

/**
 * A field: one of the workspace's, or one of ours with the type `area` or `grades`.
 * @typedef {PrechatField} Field
 */

/** @typedef {Record<string, FormDataEntryValue>} Values of the fields that are filled in */

/**
 * Five radio buttons with faces from sad to happy.
 * @param {string} name
 * @param {string} label
 */
const grades = (name, label) => el('fieldset.grades', {
  'aria-label': label,
}, GRADES.map((word, index) => {
  const grade = index + 1;
  paths.face = `${CIRCLE}M8 8v.01M12 8v.01M7 ${13.5 - grade * 0.4}q3 ${grade * 2 - 6} 6 0`;
  return el(
    'label',
    {},
    el('input', { type: 'radio', name, value: grade, required: true }),
    icon('face'),
    say(word),
  );
}));

/** @param {string} type */
const tag = (type) => type === 'area' ? 'textarea' : type === 'select' ? 'select' : 'input';

/** @param {Field} field */
function field({ key, label, type, required, options }) {
  const known = /^(name|email)$/.test(key) && key;
  const given = { type, name: key, required, dir: 'auto', maxlength: 2000, autocomplete: known };
  return type === 'grades' ? grades(key, label) : el(
    'label',
    {},
    el('span', {}, label, !required && el('small', {}, ` ${say('optional')}`)),
    el(tag(type), given, options && el('option'), list(options).map((it) => el('option', {}, it))),
  );
}

/**
 * @param {string} title
 * @param {string} text
 * @param {import('../words.js').Word} act the word of its button
 * @param {Field[]} fields
 * @param {(values: Values) => Promise<void>} submit rejects if it could not be sent
 */
function form(title, text, act, fields, submit) {
  const go = el('button.again', {}, say(act));
  const problem = el('p.state.failed', { role: 'alert' });
  /** @type {HTMLFormElement} */
  const node = el(
    'form.page',
    {
      dir: 'auto',
      async submit(event) {
        event.preventDefault();
        go.disabled = true;
        problem.textContent = '';
        try {
          await submit(Object.fromEntries([...new FormData(node)].filter(([, value]) => value)));
        } catch { problem.textContent = say('failed'); }
        go.disabled = false;
        go.focus(); // has no effect if the form is gone
      },
    },
    el('h3', {}, title),
    text && el('p', {}, text),
    list(fields).map(field),
    problem,
    go,
  );
  return node;
}

/**
 * @param {string} key
 * @param {import('../words.js').Word} label
 * @param {boolean=} required
 * @returns {Field}
 */
const area = (key, label, required) => ({ key, label: say(label), type: 'area', required });

/**
 * `begun` is called after a form that begins a conversation, with its first message.
 * @typedef {{visitor: import('../visitor.js').Visitor, config: () => Partial<WidgetConfig>,
 *   session: () => string, begun: (text?: string) => void, thank: () => void,
 *   say: typeof say, root: ShadowRoot}} FormParts
 */

/** @param {FormParts} on */
const made = ({ visitor, config, session, begun, thank }) => ({
  menu,
  quickReplies,
  richContent,

  leave: () => form(say('leave'), config().offline?.text ?? '', 'leave', [
    { key: 'name', label: say('name'), type: 'text' },
    { key: 'email', label: say('email'), type: 'email', required: true },
    area('message', 'message', true),
  ], async ({ name, email, message }) => {
    // a message of the visitor's own conversation, so that they find it and its answer again
    await visitor.put('profile', { name, email });
    begun(`${message}`);
  }),

  begin: () => form(say('start'), '', 'start', config().prechat?.fields ?? [], async (
    { name, email, 'chirrup:team': team, ...attributes },
  ) => {
    await visitor.put('profile', { name, email, team, attributes });
    begun();
  }),

  rate(label = config().rating?.question || say('how')) {
    return form(label, '', 'send', [
      { key: 'rating', type: 'grades', label },
      area('comment', 'better'),
    ], async ({ rating, comment }) => {
      await visitor.put(`sessions/${session()}/rating`, { rating: +rating, comment });
      thank();
    });
  },
});

/** @param {FormParts} on */
export function forms(on) {
  say = on.say;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(FORM_STYLES);
  on.root.adoptedStyleSheets = [...on.root.adoptedStyleSheets, sheet];
  return made(on);
}
