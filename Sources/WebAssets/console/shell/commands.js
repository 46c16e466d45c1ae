// What keys and the search can do, by name.

import { Kind } from '../../shared/protocol.js';

/** @param {import('./app.js').App} app */
export function acts(app) {
  const { pane, list, pages, inbox } = app;
  /** @param {string} name */
  const view = (name) => () => {
    if (pages.current) location.hash = '';
    inbox.show(/** @type {any} */ (name));
  };
  /** @param {string} kind */
  const write = (kind) => () => {
    if (!pane.id) return;
    pane.composer.mode(kind);
    pane.composer.focus();
  };
  return {
    away: () => !!pages.current,
    letters: () => app.alerts.letters,
    j: () => list.move(1),
    k: () => list.move(-1),
    n: () => app.next(),
    v: () => app.drawer(),
    c: () => pane.claim(),
    e: () => pane.actions.closeWithReason(),
    o: () => pane.actions.reopen(),
    z: () => app.undo.run(),
    t: () => pane.actions.transfer(),
    l: () => pane.actions.tags(),
    r: write(Kind.text),
    i: write(Kind.note),
    go: {
      w: view('waiting'),
      m: view('mine'),
      a: view('all'),
      c: view('closed'),
    },
    search: () => app.search.open(),
    /** @param {number} step */
    region: (step) => region(app, step),
    help: () => app.keyboard.showModal(),
    escape: () => escape(app),
  };
}

/**
 * For the search: words, key, act.
 * @param {import('./app.js').App} app
 * @returns {[string, string, () => void][]}
 */
export function commands({ acts: act }) {
  return [
    ['Claim the next conversation', 'N', act.n],
    ['Claim this conversation', 'C', act.c],
    ['Transfer this conversation', 'T', act.t],
    ['Close this conversation', 'E', act.e],
    ['Reopen this conversation', 'O', act.o],
    ['Edit tags', 'L', act.l],
    ['Write a note', 'I', act.i],
    ['Show waiting conversations', 'G W', act.go.w],
    ['Show my conversations', 'G M', act.go.m],
    ['Show all open conversations', 'G A', act.go.a],
    ['Show closed conversations', 'G C', act.go.c],
    ['Open settings', '', () => { location.hash = '/settings'; }],
    ['Keyboard shortcuts', '?', act.help],
  ];
}

/** F6: list, thread, reply, visitor. @param {import('./app.js').App} app @param {number} step */
function region({ list, pane, visitor, drawer }, step) {
  /** @type {[HTMLElement, () => void][]} */
  const all = [
    [list.root, () => list.focus()],
    [pane.log, () => pane.log.focus()],
    [pane.composer.root, () => pane.composer.focus()],
    [visitor.root, () => { drawer(true); visitor.root.focus(); }],
  ];
  const places = all.filter(([node]) => /** @type {any} */ (node).checkVisibility?.() ?? true);
  const at = places.findIndex(([node]) => node.contains(document.activeElement));
  const from = at < 0 ? (step > 0 ? -1 : 0) : at;
  places[(from + step + places.length) % places.length]?.[1]();
}

/** Closes what is open, the innermost first. @param {import('./app.js').App} app */
function escape({ state, pane, root, drawer }) {
  if (!state.details.hidden) return state.toggle(false);
  if (pane.sheet.isOpen) return pane.sheet.close();
  if (pane.composer.emoji.isOpen) return pane.composer.emoji.close();
  if (root.hasAttribute('data-drawer')) return drawer(false);
  /** @type {HTMLElement?} */ (document.activeElement)?.blur();
}
