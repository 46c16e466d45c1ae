// The forms: before a chat, while nobody is here, and after it. The browser checks the fields and
// says so in its own words.

import { CIRCLE, el, icon, paths } from '../../shared/dom.js';
import { say } from '../words.js';
import { list } from './offers.js';

const GRADES = /** @type {const} */ (['bad', 'poor', 'fair', 'good', 'great']);

/**
 * @typedef {{key: string, label: string, type: string, required?: boolean, options?: string[]}}
 *   Field
 */

/**
 * Faces from sad to glad, in a box of 20.
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

/** @param {Field} of */
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
 * @param {import('../words.js').Word} act what its button says
 * @param {Field[]} fields
 * @param {(values: any) => Promise<any>} give rejects if it could not be sent
 */
function form(title, text, act, fields, give) {
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
          await give(Object.fromEntries([...new FormData(node)].filter(([, value]) => value)));
        } catch { problem.textContent = say('failed'); }
        go.disabled = false;
        go.focus(); // if it is still there
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
 * @param {{visitor: import('../visitor.js').Visitor, workspace: string, config: () => any,
 *   session: () => string, begun: () => void, thank: () => void}} on `begun`: the chat may begin;
 *   `thank` takes the place of a form
 */
export const forms = ({ visitor, workspace, config, session, begun, thank }) => ({
  leave: () => form(say('leave'), config().offline.text, 'leave', [
    { key: 'name', label: say('name'), type: 'text' },
    { key: 'email', label: say('email'), type: 'email', required: true },
    area('message', 'message', true),
  ], async (values) => {
    await visitor.ask('offline', { body: { workspace, ...values } });
    thank();
  }),

  begin: () => form(say('start'), '', 'start', config().prechat.fields, async (
    { name, email, ...attributes },
  ) => {
    await visitor.put('profile', { name, email, attributes });
    begun();
  }),

  rate(label = config().rating.question || say('how')) {
    return form(label, '', 'send', [
      { key: 'rating', type: 'grades', label },
      area('comment', 'better'),
    ], async ({ rating, comment }) => {
      await visitor.put(`sessions/${session()}/rating`, { rating: +rating, comment });
      thank();
    });
  },
});
