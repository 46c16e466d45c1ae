// Times in the operator's language.

import { locale } from '../shell/language.js';

const near = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const both = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000]];

/**
 * “3 minutes ago”, or the date if it is more than a month away.
 * @param {string} at
 * @param {number=} now
 */
export function ago(at, now = Date.now()) {
  const gap = Date.parse(at) - now;
  if (Number.isNaN(gap) || Math.abs(gap) > 30 * UNITS[0][1]) return day(at);
  const [unit, size] = UNITS.find(([, each]) => Math.abs(gap) >= each) ?? ['second', 1000];
  return near.format(Math.round(gap / size), unit);
}

/**
 * @param {Intl.DateTimeFormat} format
 * @returns {(at: string) => string}
 */
const known = (format) => (at) => Number.isNaN(Date.parse(at)) ? '–' : format.format(new Date(at));
export const day = known(date);
export const moment = known(both);
