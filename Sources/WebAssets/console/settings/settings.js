// The settings: a menu, one page at a time, and beside some pages a preview or an editor. A page
// that was opened is kept, with its unsaved changes.

import { el, icon } from '../../shared/dom.js';
import { statusOf } from '../shell/api.js';
import { targetOf } from '../shell/element.js';
import { sentence } from '../shell/rest.js';
import { Workspace } from './workspace.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/** @typedef {import('./pane.js').SettingsPage} SettingsPage */
/**
 * The module of a page.
 * @typedef {{open: (context: SettingsContext) => SettingsPage | Promise<SettingsPage>}} Module
 */

/**
 * Groups of pages: name in the address, title, icon and module.
 * @type {[group: string, pages: [name: string, title: string, look: string,
 *   load: () => Promise<Module>][]][]}
 */
const MENU = [
  ['Workspace', [
    ['appearance', 'Appearance', 'eye', () => import('./appearance.js')],
    ['members', 'Members', 'users', () => import('./members.js')],
    ['teams', 'Teams', 'users', () => import('./teams.js')],
    ['single-sign-on', 'Single sign-on', 'lock', () => import('./single-sign-on.js')],
    ['hours', 'Business hours', 'clock', () => import('./hours.js')],
    ['queue', 'Queue', 'inbox', () => import('./queue.js')],
    ['visitors', 'Visitors on the site', 'globe', () => import('./visitors.js')],
    ['deleted', 'Deleted conversations', 'x', () => import('./deleted.js')],
  ]],
  ['Replies', [
    ['replies', 'Canned replies', 'bolt', () => import('./replies.js')],
    ['macros', 'Macros', 'bolt', () => import('./macros.js')],
    ['intents', 'Auto-reply rules', 'chat', () => import('./intents.js')],
    ['menus', 'Menus', 'menu', () => import('./menus.js')],
    ['proactive', 'Proactive messages', 'bolt', () => import('./proactive.js')],
    ['assist', 'Assist', 'spark', () => import('./assist.js')],
    ['messages', 'Messages and forms', 'note', () => import('./messages.js')],
  ]],
  ['Developers', [
    ['webhooks', 'Webhooks', 'ext', () => import('./webhooks.js')],
    ['keys', 'API keys', 'lock', () => import('./keys.js')],
    ['identity', 'Identity secrets', 'person', () => import('./identity.js')],
    ['credentials', 'Credentials', 'shield', () => import('./credentials.js')],
    ['audit', 'Audit log', 'file', () => import('./audit.js')],
    ['connections', 'Connections', 'globe', () => import('./connections.js')],
  ]],
  ['You', [
    ['account', 'Your account', 'person', () => import('./account.js')],
    ['notifications', 'Notifications', 'bell', () => import('./notifications.js')],
    ['security', 'Security', 'shield', () => import('./security.js')],
  ]],
];
const entries = MENU.flatMap(([, group]) => group);
const FIRST = entries[0][0];

/** The menu, and its links by the names of their pages. */
function makeMenu() {
  /** @type {Map<string, HTMLElement>} */
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

/**
 * @param {import('../shell/pages.js').PageContext} context
 * @returns {import('../shell/pages.js').Page}
 */
export function settings(context) {
  /** @type {Map<string, SettingsPage>} */
  const open = new Map();
  const { links, menu } = makeMenu();
  const slot = el('div.slot');
  const root = el('div.set', { keydown: saveOnKey }, menu, slot);
  const workspace = new Workspace(context.rest);
  const inner = { ...context, workspace, changed: mark, level };
  let turn = 0;

  function mark() {
    for (const [name, page] of open) {
      const count = page.unsaved?.() ?? 0;
      const dot = links.get(name)?.querySelector('.mark');
      if (!dot) continue;
      dot.toggleAttribute('hidden', !count);
      dot.textContent = count ? `${count} unsaved` : '';
    }
    context.changed();
  }

  /** @param {number} depth */
  function level(depth) { root.dataset.level = String(depth); }

  /** @param {string[]} path */
  async function show([wanted = '', ...rest]) {
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
        const [, , , load] = entryOf(name);
        const module = await load();
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
      // a screen reader announces the new page
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

/**
 * Ctrl S, or ⌘ S, saves the form that has the focus.
 * @param {KeyboardEvent} event
 */
function saveOnKey(event) {
  if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  targetOf(event)?.closest('form')?.requestSubmit();
}

/** @param {string} name */
const entryOf = (name) => entries.find(([key]) => key === name) ?? entries[0];

/**
 * @param {string} name
 * @param {unknown} error
 * @param {() => void} again
 */
function failed(name, error, again) {
  const status = statusOf(error);
  if (!status) console.warn('chirrup', error);
  const [, words] = entryOf(name);
  return el(
    'main.empty',
    { 'aria-label': words },
    icon(status === 403 ? 'lock' : 'nowifi'),
    el('b', {}, status === 403
        ? `${words}: administrators only` : `${words} could not be loaded`),
    el('p', {}, sentence(error)),
    el('button.button', { type: 'button', click: again }, 'Try again'),
  );
}
