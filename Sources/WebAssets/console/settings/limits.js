// The limits of the gateway for this workspace, for its administrators: they set none of them here.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';

/** @type {Record<string, string>} */
const NAMES = {
  sends_per_visitor: t('Messages of one visitor'),
  sends_per_address: t('Messages of all visitors of one address'),
  sends_per_workspace: t('Messages of all visitors'),
  stored_mebibytes_per_visitor: t('Stored messages of one visitor'),
  stored_mebibytes_per_address: t('Stored messages of all visitors of one address'),
  stored_mebibytes_per_workspace: t('Stored messages of all visitors'),
  conversations_per_visitor: t('Open conversations of one visitor'),
  new_visitors_per_workspace: t('New visitors'),
  tokens_per_address: t('Visits from one address'),
  connections_per_visitor: t('Connections of one visitor'),
  connections_per_address: t('Connections from one address'),
  connections_per_workspace: t('Connections of all visitors'),
  requests_per_member: t('API requests of one member'),
  requests_per_key: t('API requests of one API key'),
  requests_per_visitor: t('API requests of one visitor'),
  requests_per_workspace: t('API requests of all members and keys'),
  expensive_per_workspace: t('Searches, lists and reports'),
};

/** @param {VisibleLimit} limit */
function amount({ name, amount: most, seconds }) {
  if (most === null) return t('No limit');
  const number = most.toLocaleString(locale) + (name.startsWith('stored') ? '\u00a0MiB' : '');
  return seconds === 60 ? t('{} a minute', number)
    : seconds === 86_400 ? t('{} a day', number) : t('{} at once', number);
}

/** @param {VisibleLimit[]} limits */
export function limitTable(limits) {
  return el('section.panel', { 'aria-labelledby': 'limits' },
    el('h2', { id: 'limits' }, t('Limits')),
    el('p', {}, t('The administrator of the server sets them. A request above a limit is refused with the reason and the time to wait.')),
    el('table.log-table', {},
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, t('Of|limit')), el('th', { scope: 'col' }, t('At most')))),
      el('tbody', {}, ...limits.map((limit) => el('tr', {},
        el('td.wrap', {}, NAMES[limit.name] ?? limit.name),
        el('td.num', {}, amount(limit)))))));
}
