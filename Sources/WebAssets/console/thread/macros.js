// The sheet that offers the macros: of the workspace and the operator's own.

import { el } from '../../shared/dom.js';
import { api, statusOf } from '../shell/api.js';
import { find } from '../shell/element.js';
import { t } from '../shell/language.js';
import { buttons } from './sheet.js';

/** @type {Record<string, (action: Action) => string>} */
const WORDS = {
  reply: ({ text, object }) => t('reply “{}”', text ?? object ?? ''),
  note: () => t('add a note'),
  add_tags: ({ tags }) => t('tag {}', (tags ?? []).join(', ')),
  remove_tags: ({ tags }) => t('remove {}', (tags ?? []).join(', ')),
  assign: ({ to, to_team: team }) => (to === 'me' ? t('assign to you')
    : team ? t('assign to a team')
    : to === 'queue' ? t('return to the queue') : t('assign to a colleague')),
  close: () => t('close'),
  reopen: () => t('reopen'),
};

/**
 * The actions of a macro in one line.
 * @param {Action[]} actions
 */
export const gist = (actions) => {
  const words = actions.map((action) => WORDS[action.type]?.(action) ?? action.type).join(', ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/**
 * @param {import('./sheet.js').Sheet} sheet
 * @param {(macro: Macro) => void} done
 */
export async function chooseMacro(sheet, done) {
  const choices = el('div.people.macros', { role: 'radiogroup', 'aria-label': t('Macro') });
  choices.append(el('p.meta', { role: 'status' }, t('Loading the macros…')));
  /** @type {Macro[]} */
  let macros = [];
  const ways = buttons(t('Run'), () => sheet.close());
  const run = find(ways, '[type=submit]', HTMLButtonElement);
  if (run) run.disabled = true; // until there is a macro to run
  sheet.open(
    t('Run a macro'),
    [choices, ways],
    () => {
      const picked = find(choices, 'input:checked', HTMLInputElement);
      const macro = macros.find(({ id }) => id === picked?.value);
      if (macro) done(macro);
    },
  );
  let words = t('No macros yet. Administrators and operators make them in the settings.');
  try {
    macros = await api.macros();
  } catch (error) {
    words = statusOf(error) === 404
      ? t('This server does not support macros.') : t('The macros could not be loaded.');
  }
  if (!sheet.is(t('Run a macro'))) return;
  choices.replaceChildren(...macros.map((macro) => el(
    'label',
    {},
    el(
      'span',
      {},
      el('b.truncate', { dir: 'auto' }, macro.name),
      el('span.meta', { dir: 'auto' }, gist(macro.actions)),
    ),
    el('input', { type: 'radio', name: 'macro', value: macro.id, required: true }),
  )));
  if (!macros.length) return choices.append(el('p.meta', {}, words));
  if (run) run.disabled = false;
  const first = choices.querySelector('input');
  if (first) { first.checked = true; first.focus(); }
}
