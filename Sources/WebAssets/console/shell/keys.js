// The keyboard of the console. Single letters work outside fields only (WCAG 2.1.4), and the list
// can be read with `?`.

import { el } from '../../shared/dom.js';

const SEQUENCE = 900; // ms between G and the letter after it

/** @type {[string, string][]} */
const HELP = [
  ['J K', 'Next or previous conversation'],
  ['Alt ↑ ↓', 'The same, while you write'],
  ['N', 'Claim the next conversation'],
  ['C', 'Claim this conversation'],
  ['R I', 'Write a reply or a note'],
  ['T', 'Transfer'],
  ['E O', 'Close or reopen'],
  ['L', 'Edit tags'],
  ['V', 'Visitor details'],
  ['Ctrl K', 'Search and commands'],
  ['⏎', 'Send; Shift ⏎ starts a new line'],
  ['Ctrl ⏎', 'Send and close; press again to confirm'],
  ['Z', 'Undo closing'],
  ['/', 'Canned replies, in an empty reply'],
  ['Ctrl .', 'Emoji; or type its name, like :thumb'],
  ['G W', 'Waiting; G M mine, G A all, G C closed'],
  ['F6', 'Next area'],
  ['Esc', 'Close what is open, or leave the field'],
];

/**
 * @param {Record<string, any>} acts by letter, in `go` those after a G, and `help` and `escape`;
 *   while `away()` only those lead back to the inbox, and with `letters()` false no letter does
 * @param {import('./guard.js').Guard} guard
 * @param {AbortSignal} signal ends it
 */
export function keys(acts, guard, signal) {
  let led = 0;
  let walks = false; // J and K one after the other: the views that they open are meant
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const away = acts.away();
    if (!away && event.altKey && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      return acts[event.key === 'ArrowDown' ? 'j' : 'k']();
    }
    if (event.key === 'F6') { event.preventDefault(); return acts.region(event.shiftKey ? -1 : 1); }
    const control = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (control && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      return acts.search();
    }
    // a modal dialog has its own keys
    if (document.querySelector('dialog[open]')) return;
    if (event.key === 'Escape') return acts.escape();
    const field = /** @type {HTMLElement} */ (event.target).closest('input, textarea, select');
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!acts.letters() && event.key !== '?') return;
    const key = event.key.toLowerCase();
    if (key.length === 1 && key !== '?' && !(walks && 'jk'.includes(key)) && guard.blocks()) return;
    walks = 'jk'.includes(key);
    const after = Date.now() - led < SEQUENCE;
    led = 0;
    const known = after ? acts.go : away ? {} : acts;
    const act = key === '?' ? acts.help : key.length === 1 && known[key];
    if (!after && key === 'g') led = Date.now();
    else if (act) { event.preventDefault(); act(); }
  }, { signal });
}

export function help() {
  const dialog = el(
    'dialog.pop.help',
    { 'aria-label': 'Keyboard shortcuts', click: (event) => event.target === dialog && dialog.close() },
    el('h3', {}, 'Keyboard shortcuts ', el('kbd', {}, '?')),
    el(
      'dl.facts',
      {},
      ...HELP.flatMap(([names, what]) => [
        el('dt', {}, ...names.split(' ').flatMap((name) => [el('kbd', {}, name), ' '])),
        el('dd', {}, what),
      ])
    ),
    el('p', {}, el('button.button', { type: 'button', click: () => dialog.close() }, 'Done')),
  );
  return dialog;
}
