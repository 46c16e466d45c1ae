// The limits of the gateway for this workspace, for its administrators: they set none of them here.

import { el } from '../../shared/dom.js';

/** @type {Record<string, string>} */
const NAMES = {
  sends_per_visitor: 'Messages of one visitor',
  sends_per_address: 'Messages of all visitors of one address',
  sends_per_workspace: 'Messages of all visitors',
  stored_mebibytes_per_visitor: 'Stored messages of one visitor',
  stored_mebibytes_per_address: 'Stored messages of all visitors of one address',
  stored_mebibytes_per_workspace: 'Stored messages of all visitors',
  conversations_per_visitor: 'Open conversations of one visitor',
  new_visitors_per_workspace: 'New visitors',
  tokens_per_address: 'Visits from one address',
  connections_per_visitor: 'Connections of one visitor',
  connections_per_address: 'Connections from one address',
  connections_per_workspace: 'Connections of all visitors',
  requests_per_member: 'API requests of one member',
  requests_per_key: 'API requests of one API key',
  requests_per_visitor: 'API requests of one visitor',
  requests_per_workspace: 'API requests of all members and keys',
  expensive_per_workspace: 'Searches, lists and reports',
};

/** @param {VisibleLimit} limit */
function amount({ name, amount: most, seconds }) {
  if (most === null) return 'No limit';
  const number = most.toLocaleString('en') + (name.startsWith('stored') ? ' MiB' : '');
  return `${number} ${seconds === 60 ? 'a minute' : seconds === 86_400 ? 'a day' : 'at once'}`;
}

/** @param {VisibleLimit[]} limits */
export function limitTable(limits) {
  return el('section.panel', { 'aria-labelledby': 'limits' },
    el('h2', { id: 'limits' }, 'Limits'),
    el('p', {}, 'The administrator of the server sets them. A request above a limit is refused with '
      + 'the reason and the time to wait.'),
    el('table.log-table', {},
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Of'), el('th', { scope: 'col' }, 'At most'))),
      el('tbody', {}, ...limits.map((limit) => el('tr', {},
        el('td.wrap', {}, NAMES[limit.name] ?? limit.name),
        el('td.num', {}, amount(limit)))))));
}
