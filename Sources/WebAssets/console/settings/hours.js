// When somebody answers: days with their times, in one time zone, and days off.

import { el } from '../../shared/dom.js';
import { choice, select } from './fields.js';
import { Form, refusal, saveBar, uid } from './form.js';
import { cell, list } from './rows.js';
import { lockedFor, pane } from './pane.js';

const DAYS = [1, 2, 3, 4, 5, 6, 7];
/** A Monday, to name the days by. */
const MONDAY = Date.UTC(2024, 0, 1);
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'long', timeZone: 'UTC' });
const nameOf = (day) => dayName.format(new Date(MONDAY + (day - 1) * 86_400_000));
const USUAL = { from: '09:00', to: '17:00' };
const NAMES = { Mon: 1, Tue: 2, Wed: 3, Thu: 4, Fri: 5, Sat: 6, Sun: 7 };

/** Weekday, date and time of day where the hours are kept. */
export function local(zone, at = new Date()) {
  const parts = Object.fromEntries(new Intl.DateTimeFormat('en-US', {
    timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23',
    year: 'numeric', month: '2-digit', day: '2-digit',
  }).formatToParts(at).map(({ type, value }) => [type, value]));
  return {
    day: NAMES[parts.weekday],
    date: `${parts.year}-${parts.month}-${parts.day}`,
    time: `${parts.hour}:${parts.minute}`,
  };
}

/** What these hours mean at this moment, as a sentence. */
export function meaning({ always, time_zone: zone, days, holidays }, at = new Date()) {
  if (always) return 'Visitors can write to you at any time.';
  if (!days.length) return 'No opening hours are set, so you are never open.';
  let now;
  try { now = local(zone, at); } catch { return 'Your browser does not know this time zone.'; }
  const off = holidays.includes(now.date);
  const before = now.day === 1 ? 7 : now.day - 1;
  const open = !off && days.find(({ day, from, to }) => {
    const isWithin = to > from; // or it ends on the next day
    if (day === now.day) return from <= now.time && (!isWithin || now.time < to);
    return !isWithin && day === before && now.time < to;
  });
  if (open) return `It is ${now.time} there: open until ${open.to}.`;
  for (let ahead = 0; ahead < 15; ahead += 1) {
    const then = local(zone, new Date(+at + ahead * 86_400_000));
    if (holidays.includes(then.date)) continue;
    const next = days.filter(({ day, from }) => day === then.day && (ahead || from > now.time))
      .sort((one, other) => one.from.localeCompare(other.from))[0];
    if (!next) continue;
    const when = ahead === 0 ? 'today' : ahead === 1 ? 'tomorrow' : `on ${nameOf(then.day)}`;
    return `It is ${now.time} there: closed${off ? ' (day off)' : ''}. Opens ${when} at ${next.from}.`;
  }
  return `It is ${now.time} there: closed.`;
}

/** Hours as they are sent; a time that cannot be meant is refused. @param {any} hours */
function checked(hours) {
  for (const { day, from, to } of hours.days) {
    if (!from || !to || from === to) {
      throw refusal('hours.days', `${nameOf(day)}: enter a start and an end time.`);
    }
  }
  for (const day of DAYS) {
    const own = hours.days.filter((one) => one.day === day).sort(byTime);
    const before = (at) => own[at - 1];
    if (own.some(({ from }, at) => at && (from < before(at).to || before(at).to < before(at).from))) {
      throw refusal('hours.days', `${nameOf(day)}: these times overlap.`);
    }
  }
  const holidays = [...new Set(hours.holidays.filter(Boolean))].sort();
  return { ...hours, days: [...hours.days].sort(byTime), holidays };
}

export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form({ hours: shown(known.settings.hours) }, {
    keep: `${context.session().operator.id}:hours`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    const sent = checked(form.now.hours);
    return { hours: shown((await context.workspace.save({ hours: sent })).settings.hours) };
  });
  const told = el('p.meaning', { role: 'status' });
  const inner = el('div.settings-part');
  const follow = () => {
    inner.hidden = form.now.hours.always;
    const words = meaning(form.now.hours);
    if (told.textContent !== words) told.textContent = words;
  };
  form.heard(() => { follow(); context.changed(); });
  const { bar, submit } = saveBar(form, { save });
  const zones = /** @type {any} */ (Intl).supportedValuesOf?.('timeZone') ?? [];
  const own = form.now.hours.time_zone;
  const names = [...new Set(['UTC', own, ...zones])].sort().map((zone) => [zone,
    zone.replaceAll('_', ' ')]);
  inner.append(
    select(form, 'hours.time_zone', {
      label: 'Time zone',
      hint: 'For these hours, and for the days in Analytics.',
      options: names,
    }),
    days(form),
    list(form, 'hours.holidays', {
      label: 'Days off',
      hint: 'Closed all day, on any weekday.',
      add: 'Add a day off',
      row: 'Day off',
      fixed: true,
      max: 100,
      blank: () => '',
      draw: (date, change) => [cell('Date', date, (value) => change({ value }), {
        locked: form.locked, type: 'date' })],
    }),
  );
  follow();
  return {
    root: pane({
      title: 'Business hours',
      lead: 'When your team replies. Outside these hours visitors see your away message or the offline form.',
      submit,
      bar,
      body: [
        choice(form, 'hours.always', {
          label: 'Availability',
          options: [[true, 'Always open'], [false, 'At set hours']],
        }),
        told,
        inner,
      ],
    }),
    show: follow,
    unsaved: () => form.changes.length,
  };
}

/** The end of a day is 00:00 in a field of time. */
const shown = (hours) => ({
  ...hours,
  days: hours.days.map((one) => ({ ...one, to: one.to === '24:00' ? '00:00' : one.to })),
});

const byTime = (one, other) => one.day - other.day || one.from.localeCompare(other.from);

/** Seven lines; a day may have several times, a lunch break lies between them. */
function days(form) {
  const path = 'hours.days';
  const problem = el('p.error', { role: 'alert', hidden: true });
  const lines = el('div.week');
  let drawn = '';
  const all = () => form.get(path) ?? [];
  const set = (next, redraw) => {
    drawn = redraw ? '' : JSON.stringify(next);
    form.put(path, next);
    if (redraw) write(next);
  };

  function write(value) {
    const sign = JSON.stringify(value ?? []);
    if (sign === drawn) return;
    drawn = sign;
    lines.replaceChildren(...DAYS.map((day) => line(day)));
  }

  function line(day) {
    const id = uid();
    const own = all().map((one, at) => ({ ...one, at })).filter((one) => one.day === day);
    const open = el('input', {
      id,
      type: 'checkbox',
      disabled: !!form.locked,
      change: () => {
        set(open.checked ? [...all(), { day, ...USUAL }] : all().filter((one) => one.day !== day), true);
        /** @type {HTMLElement} */ (lines.children[day - 1].querySelector('input')).focus();
      },
    });
    open.checked = own.length > 0;
    const time = (one, key, words) => {
      const control = el('input.input', {
        type: 'time',
        'aria-label': `${nameOf(day)}, ${words}`,
        disabled: !!form.locked,
        input: () => set(all().map((each, at) => at === one.at
          ? { ...each, [key]: control.value } : each), false),
      });
      control.value = one[key];
      return control;
    };
    const more = el('button.link.quiet-link', {
      type: 'button',
      'aria-label': `Add hours on ${nameOf(day)}`,
      click: () => set([...all(), { day, from: own.at(-1).to, to: '20:00' }], true),
    }, 'Add hours');
    return el(
      'div.weekday',
      { role: 'group', 'aria-label': nameOf(day) },
      el('label', { for: id }, open, el('span', {}, nameOf(day))),
      el('div.times', {}, ...own.map((one) => el('span.times-line', {}, time(one, 'from', 'from'),
        'to', time(one, 'to', 'to'), own.length > 1 && !form.locked && el('button.link.quiet-link', {
          type: 'button',
          'aria-label': `Remove ${one.from} to ${one.to} on ${nameOf(day)}`,
          click: () => set(all().filter((_, at) => at !== one.at), true),
        }, 'Remove'))), !own.length && el('span.meta', {}, 'Closed'),
      own.length > 0 && own.length < 3 && !form.locked && more),
    );
  }

  const root = el('fieldset.field', {}, el('legend.label', {}, 'Hours'), lines, problem);
  return form.bind(path, { root, control: null, problem, write });
}
