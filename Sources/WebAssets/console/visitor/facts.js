// The context of a visit (page, referrer, country, time zone, language, browser) in words.

import { pathOf } from '../inbox/inbox.js';
import { locale, t } from '../shell/language.js';

/**
 * Names of browsers, where their user agent has another one.
 * @type {Record<string, string>}
 */
const BROWSERS = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' };

/** @typedef {[name: string, value: string, title?: string]} Fact `title` is the full value */

/**
 * @param {VisitContext} context
 * @returns {Fact[]}
 */
export function facts(context) {
  /** @type {Fact[]} */
  const known = [
    [t('Page'), pathOf(context.page), textOf(context.title)],
    [t('Came from'), source(context.referrer)],
    [t('Country'), nameOf('region', context.country)],
    [t('Local time'), zone(context.timezone)],
    [t('Language'), nameOf('language', context.locale)],
    [t('Browser'), browser(context.user_agent)],
  ];
  return known.filter(([, value]) => value);
}

/** @param {unknown} value */
const textOf = (value) => (typeof value === 'string' ? value : undefined);

/** @param {unknown} referrer */
function source(referrer) {
  if (typeof referrer !== 'string' || !referrer) return '';
  try {
    return new URL(referrer).host === location.host ? pathOf(referrer) : new URL(referrer).host;
  } catch { return referrer; }
}

/**
 * The visitor's local time, and its difference to ours.
 * @param {unknown} timeZone
 */
function zone(timeZone) {
  if (typeof timeZone !== 'string' || !timeZone) return '';
  try {
    const now = new Date();
    const there = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone });
    /** @param {string=} zoned */
    const wall = (zoned) => Date.parse(`${now.toLocaleString('sv', { timeZone: zoned })}Z`);
    const hours = Math.round((wall(timeZone) - wall(undefined)) / 900_000) / 4;
    const count = t('{}\u00a0h', Math.abs(hours));
    const apart = hours === 0 ? t('same as yours')
      : hours > 0 ? t('{} ahead', count) : t('{} behind', count);
    return `${there.format(now)}, ${apart}`;
  } catch { return timeZone; }
}

/**
 * @param {'language' | 'region'} type
 * @param {unknown} code
 */
function nameOf(type, code) {
  if (typeof code !== 'string' || !code) return '';
  try {
    return new Intl.DisplayNames(locale, { type }).of(code) ?? '';
  } catch { return code; }
}

/**
 * Browser, major version and system: enough to help a visitor.
 * @param {unknown} agent
 */
function browser(agent) {
  if (typeof agent !== 'string') return '';
  const found = /(Firefox|Edg|OPR|Chrome|Version)\/(\d+)/.exec(agent.replace(
    /Chrome\/\d+(?=.*(Edg|OPR)\/)/,
    '',
  ));
  const name = BROWSERS[found?.[1] ?? ''] ?? found?.[1];
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(agent)?.[0]?.replace(
    'Mac OS X',
    'macOS',
  );
  return [name && `${name} ${found?.[2]}`, system].filter(Boolean).join(', ');
}
