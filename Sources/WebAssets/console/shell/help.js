// The list of keyboard shortcuts, in a dialog.

import { el } from '../../shared/dom.js';
import { t } from './language.js';

/** @type {[string, string][]} */
const HELP = [
  ['J K', t('Next or previous conversation')],
  ['Alt ↑ ↓', t('The same, while you write')],
  ['N', t('Claim the next conversation')],
  ['C', t('Claim this conversation')],
  ['R I', t('Write a reply or a note')],
  ['T', t('Transfer')],
  ['E O', t('Close or reopen')],
  ['L D', t('Edit tags or the title')],
  ['M', t('Run a macro')],
  ['X', t('Select; Shift ↑ ↓ several, Ctrl A all shown')],
  ['V', t('Visitor details')],
  ['Ctrl K', t('Search and commands')],
  ['⏎', t('Send; Shift ⏎ starts a new line')],
  ['Ctrl ⏎', t('Send and close; press again to confirm')],
  ['Z', t('Undo closing or deleting')],
  ['/', t('Canned replies, in an empty reply')],
  ['Ctrl .', t('Emoji; or type its name, like :thumb')],
  ['G W', t('Waiting; G M mine, G A all, G C closed')],
  ['F6', t('Next area')],
  ['Esc', t('Close what is open, or leave the field')],
];

/** @type {HTMLDialogElement} */
const dialog = el(
  'dialog.pop.help',
  {
    'aria-label': t('Keyboard shortcuts'),
    click: (event) => { if (event.target === dialog) dialog.close(); },
  },
  el('h3', {}, `${t('Keyboard shortcuts')} `, el('kbd', {}, '?')),
  el(
    'dl.facts',
    {},
    ...HELP.flatMap(([names, what]) => [
      el('dt', {}, ...names.split(' ').flatMap((name) => [el('kbd', {}, name), ' '])),
      el('dd', {}, what),
    ])
  ),
  el('p', {}, el('button.button', { type: 'button', click: () => { dialog.close(); } }, t('Done'))),
);

/** Shows the dialog. */
export function help() {
  if (!dialog.isConnected) document.body.append(dialog);
  if (!dialog.open) dialog.showModal();
}
