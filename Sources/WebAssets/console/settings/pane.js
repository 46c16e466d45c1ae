// The frame of a page of the settings, and the permission to change it.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { whenNarrow } from '../shell/narrow.js';

/**
 * `level` is how deep the page is: 0 the menu, 1 a page, 2 an editor. Narrow screens show one
 * level.
 * @typedef {import('../shell/pages.js').PageContext & {
 *   workspace: import('./workspace.js').Workspace, level: (depth: number) => void}} SettingsContext
 */
/**
 * `aside` is beside the page; `show` gets the part of the address after the page's name; `unsaved`
 * counts changes.
 * @typedef {{root: HTMLElement, aside?: HTMLElement, show?: (item: string) => void,
 *   unsaved?: () => number}} SettingsPage
 */

/**
 * A page: head, body and the bar at its end.
 * @param {{title: string, lead: string, actions?: Node[],
 *   body: import('../../shared/dom.js').Child[], bar?: HTMLElement,
 *   submit?: (event: Event) => void}} on
 */
export function pane({ title, lead, actions = [], body, bar, submit }) {
  const inside = [
    el(
      'header.pane-head',
      {},
      el('a.icon-button.up', { href: '#/settings', 'aria-label': t('Back') }, icon('back')),
      el('div.pane-title', {}, el('h1', { tabindex: -1 }, title), lead && el('p', {}, lead)),
      ...actions,
    ),
    el('div.settings', {}, ...body),
    bar,
  ];
  if (!submit) return el('main.pane', { 'aria-label': title }, ...inside);
  const form = el('form.pane-form', { novalidate: true, submit }, ...inside);
  return el('main.pane', { 'aria-label': title }, form);
}

/** Up to this width an editor stands in the page's place, as in editor.css. */
const ALONE = 1099;

/**
 * The place of an editor beside a page. Where it stands alone, it is the main part for a screen
 * reader, and its heading the page's.
 * @param {string} label
 */
export function editorPlace(label) {
  const place = el('section.stage.editor', { 'aria-label': label, hidden: true });
  whenNarrow(ALONE, (isAlone) => {
    place.setAttribute('role', isAlone ? 'main' : 'complementary');
    place.querySelector('h2')?.setAttribute('aria-level', String(headingLevel()));
  });
  return place;
}

/** The level of an editor's heading. */
export const headingLevel = () => (innerWidth > ALONE ? 2 : 1);

/** @param {SettingsContext} context */
export const isAdmin = (context) => context.session().operator.role !== 'agent';

/**
 * The reason why this operator cannot change a page, or ''.
 * @param {SettingsContext} context
 */
export const lockedFor = (context) => isAdmin(context) ? ''
  : t('View only. Administrators and owners can change this.');
