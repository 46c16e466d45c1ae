// The settings: a menu, one page at a time, and beside some of them a preview or an editor. A page
// that was opened once stays as it is, so nothing that was typed is lost on the way to another.

import { el, icon } from '../../shared/dom.js';
import { sentence } from '../shell/rest.js';
import { Workspace } from './workspace.js';

/** @type {[string, [string, string, string, () => Promise<any>][]][]} */
const MENU = [
  ['Workspace', [
    ['appearance', 'Appearance', 'eye', () => import('./appearance.js')],
    ['members', 'Members', 'users', () => import('./members.js')],
    ['hours', 'Business hours', 'clock', () => import('./hours.js')],
    ['queue', 'Queue', 'inbox', () => import('./queue.js')],
  ]],
  ['Replies', [
    ['replies', 'Canned replies', 'bolt', () => import('./replies.js')],
    ['intents', 'Auto-reply rules', 'chat', () => import('./intents.js')],
    ['menus', 'Menus', 'menu', () => import('./menus.js')],
    ['messages', 'Messages and forms', 'note', () => import('./messages.js')],
  ]],
  ['Developers', [
    ['webhooks', 'Webhooks', 'ext', () => import('./webhooks.js')],
    ['keys', 'API keys', 'lock', () => import('./keys.js')],
    ['credentials', 'Credentials', 'shield', () => import('./credentials.js')],
    ['audit', 'Audit log', 'file', () => import('./audit.js')],
  ]],
  ['You', [
    ['account', 'Your account', 'person', () => import('./account.js')],
  ]],
];
const entries = MENU.flatMap(([, group]) => group);
const FIRST = entries[0][0];

/** @typedef {{root: HTMLElement, aside?: HTMLElement, show?: (item: string) => void,
 *   unsaved?: () => number}} SettingsPage */

/** The menu, and its links by the name of their page. */
function makeMenu() {
  const links = new Map(entries.map(([name, words, look]) => [name, el(
    'a',
    { href: `#/settings/${name}` },
    icon(look),
    el('span', {}, words),
    el('span.mark', { hidden: true }),
  )]));
  const menu = el(
    'nav.settings-nav',
    { 'aria-label': 'Settings' },
    el('h2', {}, 'Settings'),
    ...MENU.flatMap(([words, group]) => [
      el('h3', {}, words),
      ...group.map(([name]) => links.get(name)),
    ]),
  );
  return { links, menu };
}

/** @param {import('../shell/pages.js').PageContext} context */
export function settings(context) {
  const open = /** @type {Map<string, SettingsPage>} */ (new Map());
  const { links, menu } = makeMenu();
  const slot = el('div.slot');
  const root = el('div.set', { keydown: save }, menu, slot);
  const workspace = new Workspace(context.rest);
  const inner = { ...context, workspace, changed: mark, level, go };
  let turn = 0;

  /** Ctrl S, or ⌘ S, saves the form one is in. */
  function save(event) {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    event.target.closest('form')?.requestSubmit();
  }

  function mark() {
    for (const [name, page] of open) {
      const count = page.unsaved?.() ?? 0;
      const dot = /** @type {HTMLElement} */ (links.get(name).querySelector('.mark'));
      dot.hidden = !count;
      dot.textContent = count ? `${count} unsaved` : '';
    }
    context.changed();
  }

  function go(path) { location.hash = `#/settings/${path}`; }

  /** How deep one is, for screens that show one thing at a time. */
  function level(depth) { root.dataset.level = String(depth); }

  async function show([wanted, ...rest]) {
    const name = links.has(wanted) ? wanted : FIRST;
    const mine = ++turn;
    for (const [key, link] of links) {
      if (key === name) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    level(wanted ? rest[0] ? 2 : 1 : 0);
    let page = open.get(name);
    if (!page) {
      try {
        const module = await entries.find(([key]) => key === name)[3]();
        page = open.get(name) ?? await module.open(inner);
        open.set(name, page);
      } catch (error) {
        if (mine === turn) slot.replaceChildren(failed(name, error, () => show([wanted, ...rest])));
        return;
      }
    }
    if (mine !== turn) return;
    if (page.root.parentNode !== slot) {
      slot.replaceChildren(page.root, ...(page.aside ? [page.aside] : []));
      // who listens is told where they are now
      if (!rest.length) page.root.querySelector('h1')?.focus({ preventScroll: true });
    }
    page.show?.(rest.join('/'));
    mark();
  }

  return {
    root,
    show,
    unsaved: () => [...open.values()].reduce((sum, page) => sum + (page.unsaved?.() ?? 0), 0),
  };
}

function failed(name, error, again) {
  if (!error.status) console.warn('chirrup', error);
  const words = entries.find(([key]) => key === name)[1];
  return el(
    'main.empty',
    { 'aria-label': words },
    icon(error.status === 403 ? 'lock' : 'nowifi'),
    el('b', {}, error.status === 403 ? `${words}: administrators only` : `${words} could not be loaded`),
    el('p', {}, sentence(error)),
    el('button.button', { type: 'button', click: again }, 'Try again'),
  );
}
