// What a visitor's page told about where they are, in words.

import { pathOf } from '../inbox/inbox.js';

/** @param {any} context @returns {[string, string, string?][]} name, value, the whole of it */
export function facts(context) {
  const known = /** @type {[string, string, string?][]} */ ([
    ['Page', pathOf(context.page), context.title],
    ['Came from', source(context.referrer)],
    ['Local time', zone(context.timezone)],
    ['Language', language(context.locale)],
    ['Browser', browser(context.user_agent)],
  ]);
  return known.filter(([, value]) => value);
}

function source(referrer) {
  if (typeof referrer !== 'string' || !referrer) return '';
  try {
    return new URL(referrer).host === location.host ? pathOf(referrer) : new URL(referrer).host;
  } catch { return referrer; }
}

/** Their clock, and how far it is from ours. */
function zone(timeZone) {
  if (typeof timeZone !== 'string' || !timeZone) return '';
  try {
    const now = new Date();
    const there = new Intl.DateTimeFormat(undefined, { timeStyle: 'short', timeZone });
    const wall = (zoned) => Date.parse(`${now.toLocaleString('sv', { timeZone: zoned })}Z`);
    const hours = Math.round((wall(timeZone) - wall(undefined)) / 900_000) / 4;
    const count = `${Math.abs(hours)}\u00a0h`;
    const apart = hours === 0 ? 'same as yours' : hours > 0 ? `${count} ahead` : `${count} behind`;
    return `${there.format(now)}, ${apart}`;
  } catch { return timeZone; }
}

function language(locale) {
  try {
    return locale ? new Intl.DisplayNames(undefined, { type: 'language' }).of(locale) ?? '' : '';
  } catch { return String(locale); }
}

/** Enough to help somebody, no fingerprint. */
function browser(agent) {
  if (typeof agent !== 'string') return '';
  const found = /(Firefox|Edg|OPR|Chrome|Version)\/(\d+)/.exec(agent.replace(
    /Chrome\/\d+(?=.*(Edg|OPR)\/)/,
    '',
  ));
  const name = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' }[found?.[1] ?? ''] ?? found?.[1];
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(agent)?.[0]?.replace(
    'Mac OS X',
    'macOS',
  );
  return [name && `${name} ${found?.[2]}`, system].filter(Boolean).join(', ');
}
