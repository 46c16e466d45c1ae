// What pages of the settings have in common: their frame, and who may change them.

import { el, icon } from '../../shared/dom.js';

/** The frame of a page: head, body, and the bar below if there is one. */
export function pane({ title, lead, actions = [], body, bar = null, submit = null, back = '' }) {
  const inside = [
    el(
      'header.pane-head',
      {},
      el('a.icon-button.up', { href: `#/settings${back}`, 'aria-label': 'Back' }, icon('back')),
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

export const isAdmin = (context) => context.session().operator.role !== 'agent';

/** Why an agent cannot change this, or ''. */
export const lockedFor = (context) => isAdmin(context) ? ''
  : 'View only. Administrators and owners can change this.';
