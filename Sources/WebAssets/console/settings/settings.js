// The settings: a menu, one page at a time, and beside some pages a preview or an editor. A page
// that was opened is kept, with its unsaved changes.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
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
  [t('Workspace'), [
    ['appearance', t('Appearance'), 'eye', () => import('./appearance.js')],
    ['members', t('Members'), 'users', () => import('./members.js')],
    ['teams', t('Teams'), 'users', () => import('./teams.js')],
    ['single-sign-on', t('Single sign-on'), 'lock', () => import('./single-sign-on.js')],
    ['hours', t('Business hours'), 'clock', () => import('./hours.js')],
    ['queue', t('Queue'), 'inbox', () => import('./queue.js')],
    ['attachments', t('Attachments'), 'clip', () => import('./attachments.js')],
    ['visitors', t('Visitors on the site'), 'globe', () => import('./visitors.js')],
    ['email', t('E-mail'), 'note', () => import('./email.js')],
    ['deleted', t('Deleted conversations'), 'x', () => import('./deleted.js')],
  ]],
  [t('Replies'), [
    ['replies', t('Canned replies'), 'bolt', () => import('./replies.js')],
    ['macros', t('Macros'), 'bolt', () => import('./macros.js')],
    ['intents', t('Auto-reply rules'), 'chat', () => import('./intents.js')],
    ['menus', t('Menus'), 'menu', () => import('./menus.js')],
    ['proactive', t('Proactive messages'), 'bolt', () => import('./proactive.js')],
    ['assist', t('Assist'), 'spark', () => import('./assist.js')],
    ['messages', t('Messages and forms'), 'note', () => import('./messages.js')],
  ]],
  [t('Developers'), [
    ['webhooks', t('Webhooks'), 'ext', () => import('./webhooks.js')],
    ['keys', t('API keys'), 'lock', () => import('./keys.js')],
    ['identity', t('Identity secrets'), 'person', () => import('./identity.js')],
    ['credentials', t('Credentials'), 'shield', () => import('./credentials.js')],
    ['audit', t('Audit log'), 'file', () => import('./audit.js')],
    ['connections', t('Connections'), 'globe', () => import('./connections.js')],
  ]],
  [t('You'), [
    ['account', t('Your account'), 'person', () => import('./account.js')],
    ['notifications', t('Notifications'), 'bell', () => import('./notifications.js')],
    ['security', t('Security'), 'shield', () => import('./security.js')],
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
    { 'aria-label': t('Settings') },
    el('h2', {}, t('Settings')),
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
      dot.textContent = count ? t('{} unsaved', count) : '';
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
        ? t('{}: administrators only', words) : t('{} could not be loaded', words)),
    el('p', {}, sentence(error)),
    el('button.button', { type: 'button', click: again }, t('Try again')),
  );
}
