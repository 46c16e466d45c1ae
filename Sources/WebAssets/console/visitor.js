// The visitor column: what the page told about the person, in words.

import { el } from '../shared/dom.js';
import { face, time } from '../shared/thread.js';
import { faceOf, nameOf, pathOf } from './inbox.js';

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long' });

/** @param {HTMLElement} root @param {any} row @param {number} head messages so far */
export function visitor(root, row, head) {
  const sign = JSON.stringify([row, head, row && zone(row.context?.timezone)]);
  if (root.dataset.sign === sign) return;
  root.dataset.sign = sign;
  root.hidden = !row;
  if (!row) return root.replaceChildren();
  const context = row.context ?? {};
  const facts = [
    ['Page', pathOf(context.page), context.title],
    ['Came from', source(context.referrer)],
    ['Local time', zone(context.timezone)],
    ['Language', language(context.locale)],
    ['Browser', browser(context.user_agent)],
  ].filter(([, value]) => value);
  root.replaceChildren(
    ...[
      el(
        'section',
        {},
        el(
          'div.person',
          {},
          face(faceOf(row), '.avatar-lg'),
          el('b.truncate', { dir: 'auto' }, nameOf(row)),
          el(
            'span.meta',
            {},
            row.visitor?.name && !row.visitor.name.startsWith('Visitor ')
              ? 'Named by the site, not verified'
              : 'Gave no name',
          ),
        ),
      ),
      facts.length ? el('section', {}, el('h3', {}, 'Context'), list(facts)) : '',
      el(
        'section',
        {},
        el('h3', {}, 'Conversation'),
        list([
          ['Opened', `${day.format(new Date(row.created_at))}, ${time(row.created_at)}`],
          [
            'Status',
            { waiting: 'Waiting', active: 'Open', closed: 'Closed' }[row.status] ?? row.status,
          ],
          ['Operator', row.assignee?.name ?? 'Nobody yet'],
          ['Entries', String(head || row.last_seq)],
        ]),
      ),
    ].filter(Boolean)
  );
}

const list = (facts) => el(
  'dl.facts',
  {},
  ...facts.flatMap(([name, value, title]) => [
    el('dt', {}, name),
    el('dd.truncate', { dir: 'auto', title: title || value }, value),
  ])
);

function source(referrer) {
  if (!referrer) return '';
  try {
    return new URL(referrer).host === location.host ? pathOf(referrer) : new URL(referrer).host;
  } catch { return referrer; }
}

function zone(timeZone) {
  if (!timeZone) return '';
  try {
    const there = new Intl.DateTimeFormat(undefined, { timeStyle: 'short', timeZone });
    return `${there.format()}, ${timeZone.replace(/_/g, ' ')}`;
  } catch { return timeZone; }
}

function language(locale) {
  try {
    return locale ? new Intl.DisplayNames(undefined, { type: 'language' }).of(locale) : '';
  } catch { return locale; }
}

/** Enough to help somebody, no fingerprint. */
function browser(agent = '') {
  const found = /(Firefox|Edg|OPR|Chrome|Version)\/(\d+)/.exec(agent.replace(
    /Chrome\/\d+(?=.*(Edg|OPR)\/)/,
    '',
  ));
  const name = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' }[found?.[1]] ?? found?.[1];
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(agent)?.[0]?.replace(
    'Mac OS X',
    'macOS',
  );
  return [name && `${name} ${found?.[2]}`, system].filter(Boolean).join(', ');
}
