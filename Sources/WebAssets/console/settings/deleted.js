// The deleted conversations: restored here until they are erased, and the setting for how long.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { generatedName } from '../visitor/visitor-name.js';
import { number } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { isAdmin, lockedFor, pane } from './pane.js';
import { day, moment } from './times.js';

const PAGE = 50; // conversations of one request
const DAYS = [1, 3650];

/** @param {DeletedConversation} item */
const nameOf = ({ title, visitor_name: name, visitor_id: visitor, id }) => (
  title || name || generatedName(visitor ?? id)
);

/**
 * @param {string} at
 * @param {string | null | undefined} by the name of an operator
 * @param {string | null | undefined} via the way, if it was no operator
 */
function deletionOf(at, by, via) {
  if (by) return t('deleted {1} by {2}', at, by);
  if (via === 'api_key') return t('deleted {} by an API key', at);
  return via === 'command' ? t('deleted {} by the command line', at) : t('deleted {}', at);
}

/** @param {DeletedConversation} item */
function facts({ title, visitor_name: name, messages, deleted_at: at, deleted_by: by, ...item }) {
  return [
    title && name,
    messages === 1 ? t('1 message') : t('{} messages', messages),
    deletionOf(moment(at), by, item.deleted_via),
    item.erased_at ? t('to be erased on {}', day(item.erased_at))
      : t('never erased: another application deleted it'),
  ].filter(Boolean).join(' · ');
}

/** @param {import('./pane.js').SettingsContext} context */
function deletedList(context) {
  const trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  const said = el('p.sr-only', { role: 'status' });
  const rows = el('ul.deleted');
  const more = el('button.button', { type: 'button', hidden: true }, t('Show older ones'));
  const empty = el('div.empty', { hidden: true }, icon('inbox'),
    el('b', {}, t('No deleted conversations')),
    el('p', {}, t('Delete one in its menu “More actions”. It can be restored here.')));
  /** @type {string?} */
  let cursor = null;

  /** @param {() => Promise<void>} work */
  async function attempt(work) {
    trouble.hidden = true;
    try { await work(); } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(icon('alert', 'small'), sentence(error));
    }
    empty.hidden = rows.childElementCount > 0 || !trouble.hidden;
  }

  /** @param {DeletedConversation} item */
  function draw(item) {
    const name = nameOf(item);
    const restore = el('button.button', { type: 'button', 'aria-label': t('Restore {}', name) }, t('Restore'));
    const row = el('li', {},
      el('div', {}, el('b.truncate', { dir: 'auto' }, name),
        item.last_message && el('p.truncate', { dir: 'auto' }, item.last_message),
        el('p.meta', {}, facts(item))),
      restore);
    restore.onclick = () => attempt(async () => {
      restore.disabled = true;
      try {
        await context.rest.post(`live-chat/conversations/${item.id}/restore`);
        const next = row.nextElementSibling ?? row.previousElementSibling;
        row.remove();
        said.textContent = t('{} is restored.', name);
        next?.querySelector('button')?.focus();
      } finally { restore.disabled = false; }
    });
    return row;
  }

  /** @param {string?} from the cursor of a page, null for the first */
  const load = (from) => attempt(async () => {
    const answer = await context.rest.get('live-chat/deleted-conversations', {
      cursor: from, limit: PAGE });
    cursor = answer.next_cursor;
    if (!from) rows.replaceChildren();
    rows.append(...answer.conversations.map(draw));
    more.hidden = !cursor;
  });
  more.onclick = () => load(cursor);
  return { parts: [trouble, said, rows, empty, el('div', {}, more)], load };
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form({ retention: known.settings.retention }, {
    keep: `${context.session().operator.id}:retention`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    /** @type {number?} */
    const days = form.get('retention.deleted_days');
    if (days == null || !Number.isInteger(days) || days < DAYS[0] || days > DAYS[1]) {
      throw refusal('retention.deleted_days', t('Enter a whole number from {1} to {2}.', DAYS[0], DAYS[1]));
    }
    const { settings } = await context.workspace.save({ retention: form.now.retention });
    list?.load(null); // the times of the erasure have changed
    return { retention: settings.retention };
  });
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save });
  const list = isAdmin(context) ? deletedList(context) : null;
  return {
    root: pane({
      title: t('Deleted conversations'),
      lead: t('Operators and visitors do not see them any more. Restore one before it is erased.'),
      submit,
      bar,
      body: [
        number(form, 'retention.deleted_days', {
          label: t('Erase deleted conversations after'),
          hint: t('With their messages, for good. Analytics keep their figures.'),
          unit: t('days'),
          min: DAYS[0],
          max: DAYS[1],
        }),
        ...list?.parts ?? [],
      ],
    }),
    show: () => { list?.load(null); },
    unsaved: () => form.changes.length,
  };
}
