// The commands of the console, for keys and search.

/**
 * Commands by letter; `go` has those after a G. While `isAway()`, a page covers the inbox and only
 * `go` works; while `hasLetters()` is false, single letters are no commands.
 *
 * Deletion has no letter: the conversation disappears for the visitor and all operators, so one key
 * typed beside a field must not do it. The search and the menu offer it.
 * @typedef {ReturnType<typeof acts>} Acts
 */

import { Kind } from '../../shared/protocol.js';
import { t } from './language.js';

/** @param {import('./app.js').App} app */
export function acts(app) {
  const { pane, list, pages } = app;
  const { bulk } = list;
  /**
   * While conversations are selected, a command is about all of them.
   * @type {(many: () => void, one: () => void) => () => void}
   */
  const each = (many, one) => () => { if (bulk.isOpen) many(); else one(); };
  /** @param {import('../inbox/inbox.js').Tab} name */
  const view = (name) => () => {
    if (pages.current) location.hash = '';
    list.show(name);
  };
  /** @param {string} kind */
  const write = (kind) => () => {
    if (!pane.id) return;
    pane.composer.mode(kind);
    pane.composer.focus();
  };
  return {
    isAway: () => !!pages.current,
    hasLetters: () => app.alerts.letters,
    letters: {
      j: () => list.move(1),
      k: () => list.move(-1),
      n: () => app.next(),
      v: () => app.drawer(),
      c: () => pane.claim(),
      e: each(() => bulk.close(), () => pane.actions.closeWithReason()),
      o: each(() => bulk.reopen(), () => { pane.actions.reopen(); }),
      z: () => app.undo.run(),
      t: each(() => { bulk.assign(); }, () => { pane.actions.transfer(); }),
      l: each(() => { bulk.tags(); }, () => { pane.actions.tags(); }),
      m: each(() => { bulk.macro(); }, () => { pane.actions.macro(); }),
      x: () => list.pick(),
      d: () => pane.head.title.edit(),
      r: write(Kind.text),
      i: write(Kind.note),
    },
    go: {
      w: view('waiting'),
      m: view('mine'),
      a: view('all'),
      c: view('closed'),
    },
    search: () => app.search.open(),
    /** @param {number} step */
    region: (step) => region(app, step),
    help: () => { app.help(); },
    escape: () => escape(app),
  };
}

/**
 * The commands that the search offers: name, key, function.
 * @param {import('./app.js').App} app
 * @returns {[string, string, () => void][]}
 */
export function commands({ acts: { letters, go, help }, pane }) {
  const { remove } = pane;
  return [
    [t('Claim the next conversation'), 'N', letters.n],
    [t('Claim this conversation'), 'C', letters.c],
    [t('Transfer this conversation'), 'T', letters.t],
    [t('Close this conversation'), 'E', letters.e],
    [t('Reopen this conversation'), 'O', letters.o],
    [t('Edit tags'), 'L', letters.l],
    [t('Run a macro'), 'M', letters.m],
    [t('Select this conversation'), 'X', letters.x],
    [t('Edit the title'), 'D', letters.d],
    ...remove ? [/** @type {[string, string, () => void]} */ ([t('Delete this conversation'), '', remove])] : [],
    [t('Write a note'), 'I', letters.i],
    [t('Show waiting conversations'), 'G W', go.w],
    [t('Show my conversations'), 'G M', go.m],
    [t('Show all open conversations'), 'G A', go.a],
    [t('Show closed conversations'), 'G C', go.c],
    [t('Open settings'), '', () => { location.hash = '/settings'; }],
    [t('Keyboard shortcuts'), '?', help],
  ];
}

/**
 * F6 moves the focus between list, thread, reply and visitor.
 * @param {import('./app.js').App} app
 * @param {number} step 1 or -1
 */
function region({ list, pane, visitor, drawer }, step) {
  /** @type {[HTMLElement, () => void][]} */
  const all = [
    [list.root, () => list.focus()],
    [pane.log, () => pane.log.focus()],
    [pane.composer.root, () => pane.composer.focus()],
    [visitor.root, () => { drawer(true); visitor.root.focus(); }],
  ];
  const places = all.filter(([node]) => node.checkVisibility?.() ?? true);
  const at = places.findIndex(([node]) => node.contains(document.activeElement));
  const from = at < 0 ? (step > 0 ? -1 : 0) : at;
  places[(from + step + places.length) % places.length]?.[1]();
}

/**
 * Closes the innermost thing that is open.
 * @param {import('./app.js').App} app
 */
function escape({ state, pane, list, root, drawer }) {
  if (!state.details.hidden) return state.toggle(false);
  if (list.views.sheet.isOpen) return list.views.sheet.close();
  if (list.bulk.sheet.isOpen) return list.bulk.sheet.close();
  if (list.bulk.isOpen) return list.selection.clear();
  if (pane.sheet.isOpen) return pane.sheet.close();
  if (pane.composer.emoji.isOpen) return pane.composer.emoji.close();
  if (root.hasAttribute('data-drawer')) return drawer(false);
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}
