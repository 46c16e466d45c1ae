// The page for opening hours: times for each weekday in one time zone, and days off.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { choice, select } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { cell, list } from './rows.js';
import { lockedFor, pane } from './pane.js';
import { DAY, DAYS, nameOf, weekField } from './week.js';

/** @type {Record<string, number>} */
const NUMBERS = { Mon: 1, Tue: 2, Wed: 3, Thu: 4, Fri: 5, Sat: 6, Sun: 7 };

/**
 * Weekday, date and time of day in a time zone.
 * @param {string} zone
 * @param {Date} at
 */
function local(zone, at) {
  const parts = Object.fromEntries(new Intl.DateTimeFormat('en-US', {
    timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23',
    year: 'numeric', month: '2-digit', day: '2-digit',
  }).formatToParts(at).map(({ type, value }) => [type, value]));
  return {
    day: NUMBERS[parts.weekday],
    date: `${parts.year}-${parts.month}-${parts.day}`,
    time: `${parts.hour}:${parts.minute}`,
  };
}

/**
 * The state of the hours at a moment, as a sentence.
 * @param {Hours} hours
 * @param {Date=} at
 */
export function meaningOf({ always, time_zone: zone, days, holidays }, at = new Date()) {
  if (always) return t('Visitors can write to you at any time.');
  if (!days.length) return t('No opening hours are set, so you are never open.');
  let now;
  try { now = local(zone, at); } catch { return t('Your browser does not know this time zone.'); }
  const { day: today, time } = now;
  const isOff = holidays.includes(now.date);
  const before = today === 1 ? 7 : today - 1;
  const open = isOff ? undefined : days.find(({ day, from, to }) => {
    const isWithin = to > from; // else it ends on the next day
    if (day === today) return from <= time && (!isWithin || time < to);
    return !isWithin && day === before && time < to;
  });
  if (open) return t('It is {1} there: open until {2}.', time, open.to);
  for (let ahead = 0; ahead < 15; ahead += 1) {
    const then = local(zone, new Date(+at + ahead * DAY));
    if (holidays.includes(then.date)) continue;
    const next = days.filter(({ day, from }) => day === then.day && (ahead || from > time))
      .sort((one, other) => one.from.localeCompare(other.from))[0];
    if (!next) continue;
    return closedWords(time, isOff, ahead, nameOf(then.day), next.from);
  }
  return t('It is {} there: closed.', time);
}

/**
 * @param {string} now
 * @param {boolean} isOff a day off
 * @param {number} ahead days until it opens
 * @param {string} day the weekday on which it opens
 * @param {string} from
 */
function closedWords(now, isOff, ahead, day, from) {
  if (ahead === 0) return t('It is {1} there: closed. Opens today at {2}.', now, from);
  if (ahead === 1) {
    return isOff ? t('It is {1} there: closed (day off). Opens tomorrow at {2}.', now, from)
      : t('It is {1} there: closed. Opens tomorrow at {2}.', now, from);
  }
  return isOff ? t('It is {1} there: closed (day off). Opens on {2} at {3}.', now, day, from)
    : t('It is {1} there: closed. Opens on {2} at {3}.', now, day, from);
}

/**
 * The hours to send. Times that are missing or overlap are refused.
 * @param {Hours} hours
 */
export function checkedHours(hours) {
  for (const { day, from, to } of hours.days) {
    if (!from || !to || from === to) {
      throw refusal('hours.days', t('{}: enter a start and an end time.', nameOf(day)));
    }
  }
  for (const day of DAYS) {
    const own = hours.days.filter((one) => one.day === day).sort(byTime);
    const isOverlapping = own.some(({ from }, at) => {
      const before = own[at - 1];
      return before && (from < before.to || before.to < before.from);
    });
    if (isOverlapping) throw refusal('hours.days', t('{}: these times overlap.', nameOf(day)));
  }
  const holidays = [...new Set(hours.holidays.filter(Boolean))].sort();
  return { ...hours, days: [...hours.days].sort(byTime), holidays };
}

/**
 * The time zones that the browser knows, and the one in use.
 * @param {string} own
 * @returns {[value: string, words: string][]}
 */
export function zoneNames(own) {
  const zones = Intl.supportedValuesOf?.('timeZone') ?? [];
  return [...new Set(['UTC', own, ...zones])].sort().map(
    (zone) => [zone, zone.replaceAll('_', ' ')]
  );
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form({ hours: shownHours(known.settings.hours) }, {
    keep: `${context.session().operator.id}:hours`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    const sent = checkedHours(form.now.hours);
    return { hours: shownHours((await context.workspace.save({ hours: sent })).settings.hours) };
  });
  const status = el('p.meaning', { role: 'status' });
  const inner = el('div.settings-part');
  const follow = () => {
    inner.hidden = form.now.hours.always;
    const words = meaningOf(form.now.hours);
    if (status.textContent !== words) status.textContent = words;
  };
  form.onChange(() => { follow(); context.changed(); });
  const { bar, submit } = saveBar(form, { save });
  inner.append(
    select(form, 'hours.time_zone', {
      label: t('Time zone'),
      hint: t('For these hours, and for the days in Analytics.'),
      options: zoneNames(form.now.hours.time_zone),
    }),
    weekField(form),
    list(form, 'hours.holidays', {
      label: t('Days off'),
      hint: t('Closed all day, on any weekday.'),
      add: t('Add a day off'),
      row: (number) => t('Day off {}', number),
      fixed: true,
      max: 100,
      blank: () => '',
      draw: (date, change) => [
        cell(t('Date'), date, (value) => change(value), { locked: form.locked, type: 'date' }),
      ],
    }),
  );
  follow();
  return {
    root: pane({
      title: t('Business hours'),
      lead: t('When your team replies. Outside these hours visitors see your away message or the offline form.'),
      submit,
      bar,
      body: [
        choice(form, 'hours.always', {
          label: t('Availability'),
          options: [[true, t('Always open')], [false, t('At set hours')]],
        }),
        status,
        inner,
      ],
    }),
    show: follow,
    unsaved: () => form.changes.length,
  };
}

/**
 * Hours for the fields: a time field takes 00:00 and not 24:00.
 * @param {Hours} hours
 * @returns {Hours}
 */
export const shownHours = (hours) => ({
  ...hours,
  days: hours.days.map((one) => ({ ...one, to: one.to === '24:00' ? '00:00' : one.to })),
});

/**
 * @param {Opening} one
 * @param {Opening} other
 */
const byTime = (one, other) => one.day - other.day || one.from.localeCompare(other.from);
