// Volume and times of a period, against the period before, and by operator, team or tag.

import { el } from '../../shared/dom.js';
import { change, NUMBER, SHARE, TIME } from './change.js';
import { bars, heat, lines, range } from './charts.js';
import { groupPanel } from './groups.js';
import { count, fullDate, longDay, span } from './marks.js';
import {
  choice, few, flat, goodOf, LEAST, panel, percent, ratingsOf, samplesOf, tile, timesOf,
} from './panel.js';
import { goodOverTime } from './satisfaction.js';
import { dueOf, missedOf, missedOverTime, missedWords, targetTile } from './targets.js';

/** @typedef {import('./tables.js').Cell} Cell */
/** @typedef {import('./panel.js').Time} Time */
/** @typedef {import('./groups.js').Group} Group */
/** @typedef {import('./groups.js').Groups} Groups */

/** @param {'short' | 'long'} weekday */
const week = (weekday) => [1, 2, 3, 4, 5, 6, 7].map((day) => new Intl.DateTimeFormat(undefined, {
  weekday, timeZone: 'UTC' }).format(Date.UTC(2024, 0, day)));
const [WEEK, DAYS] = [week('short'), week('long')];

/** @type {Record<Time, string>} */
const TIMES = {
  first_response: 'First response', resolution: 'Resolution', wait: 'Waiting time',
};
/** @type {Record<Time, string>} */
const DEFINITIONS = {
  wait: 'From the first message until an operator claims it.',
  first_response: 'From the first message to the first reply by an operator.',
  resolution: 'From the first message until the conversation is closed.',
};

/**
 * @param {Analytics} figures
 * @param {Groups?} groups null: those of one group are shown
 */
export function overview(figures, groups) {
  const { from, to, days, total, by_hour: hours } = figures;
  const file = (/** @type {string} */ name) => `chirrup-${name}-${from}-${to}.csv`;
  return [
    tiles(figures, days.length),
    el(
      'div.grid',
      {},
      volume(days, total, file('conversations')),
      ...['wait', 'first_response', 'resolution'].map((time) => (
        timePanel(/** @type {Time} */ (time), days, total, file(time)))),
      goodOverTime(days, total, file('satisfaction')),
      dueOf(figures) > 0 && missedOverTime(figures, file('targets')),
      byHour(hours, file('hours')),
      groups && byGroup(groups, figures, file('groups')),
    ),
  ];
}

/**
 * @param {Analytics} figures
 * @param {number} days
 */
function tiles(figures, days) {
  const { total, previous: before } = figures;
  const { sessions } = total;
  /** @param {Time} time */
  const pair = (time) => {
    const name = `${TIMES[time]}, median`;
    const size = samplesOf(total, time);
    const [p50, p90] = timesOf(total, time);
    const [oldP50, oldP90] = timesOf(before, time);
    if (p50 == null) {
      return tile(name, few(size ? 'too few' : 'none yet'), `From ${size} of ${sessions}`);
    }
    return tile(
      name,
      span(p50),
      change(p50, oldP50, TIME),
      p90 == null ? `P90 needs ${LEAST.p90} conversations, there were ${size}`
        : ['P90 ', span(p90), oldP90 != null && ', ', change(p90, oldP90, TIME)],
    );
  };
  const good = goodOf(total);
  return el(
    'dl.tiles',
    {},
    tile('Conversations', count.format(sessions), change(sessions, before.sessions, NUMBER),
      `${count.format(before.sessions)} in the ${days} days before`),
    ...['wait', 'first_response', 'resolution'].map((time) => pair(/** @type {Time} */ (time))),
    good == null
      ? tile('Good ratings', few(total.csat_count ? 'too few' : 'none yet'), ratingsOf(total))
      : tile('Good ratings', percent(good), change(good, goodOf(before), SHARE, 'point'),
        ratingsOf(total)),
    targetTile(figures),
  );
}

/**
 * @param {DayFigures[]} days
 * @param {Figures} total
 * @param {string} file
 */
function volume(days, total, file) {
  const best = days.reduce((most, day) => day.sessions > most.sessions ? day : most);
  const words = `${count.format(total.sessions)} conversations with ${
    count.format(total.messages)} messages; ${count.format(total.closed)} of them are closed. `
    + `Busiest day: ${longDay(best.day)}, with ${count.format(best.sessions)}.`;
  return panel({
    title: 'Conversations',
    words,
    className: '.w12',
    draw: () => bars({ days, of: ({ sessions }) => sessions, words: `Conversations by day. ${words}` }),
    columns: ['Day', 'Conversations', 'Claimed', 'Answered', 'Closed', 'Messages'],
    rows: () => days.map(({ day, sessions, claimed, answered, closed, messages }) => [
      fullDate(day), ...[sessions, claimed, answered, closed, messages].map(count.format),
    ]),
    file,
    data: () => days.map(flat),
  });
}

/**
 * @param {Time} time
 * @param {DayFigures[]} days
 * @param {Figures} total
 * @param {string} file
 */
function timePanel(time, days, total, file) {
  const title = TIMES[time];
  const size = (/** @type {Figures} */ one) => samplesOf(one, time);
  const scarce = days.filter((day) => size(day) > 0 && size(day) < LEAST.p90).length;
  const gaps = scarce ? ` ${scarce === 1 ? '1 day' : `${scarce} days`} with fewer than ${
    LEAST.p90} of them ${scarce === 1 ? 'has' : 'have'} no P90.` : '';
  const [p50, p90] = timesOf(total, time);
  const tail = p90 == null ? '' : `, nine in ten within ${span(p90)}`;
  const figures = p50 == null ? 'Too few conversations.'
    : `Of ${count.format(size(total))} conversations, half within ${span(p50)}${tail}.`;
  return panel({
    title,
    words: `${DEFINITIONS[time]} ${figures}${gaps}`,
    draw: () => lines({
      days,
      size,
      series: [
        { of: (day) => timesOf(day, time)[0], name: 'P50', tone: 1 },
        { of: (day) => timesOf(day, time)[1], name: 'P90', tone: 2 },
      ],
      format: span,
      words: `${title} by day. ${figures}`,
    }),
    columns: ['Day', 'P50', 'P90', 'Conversations'],
    rows: () => days.map((day) => [
      fullDate(day.day), ...timesOf(day, time).map(span), count.format(size(day)),
    ]),
    file,
    data: () => days.map((day) => ({
      day: day.day,
      conversations: size(day),
      [`${time}_p50_ms`]: day[`${time}_p50_ms`],
      [`${time}_p90_ms`]: day[`${time}_p90_ms`],
    })),
  });
}

/**
 * @param {number[][]} hours
 * @param {string} file
 */
function byHour(hours, file) {
  const most = Math.max(...hours.flat());
  const day = hours.findIndex((row) => row.includes(most));
  const hour = hours[day].indexOf(most);
  /** @param {number} value */
  const clock = (value) => `${String(value).padStart(2, '0')}:00`;
  const words = most
    ? `When conversations start; darker means more. Busiest: ${DAYS[day]}, ${
      clock(hour)} to ${clock((hour + 1) % 24)}, with ${count.format(most)}.`
    : 'When conversations start.';
  return panel({
    title: 'By weekday and hour',
    words,
    className: '.w12',
    draw: () => heat({ hours, dayNames: WEEK, words }),
    columns: ['Hour', ...WEEK],
    rows: () => Array.from({ length: 24 }, (_, at) => [
      clock(at), ...hours.map((row) => count.format(row[at])),
    ]),
    file,
    data: () => Array.from({ length: 24 }, (_, at) => ({
      hour: clock(at), ...Object.fromEntries(hours.map((row, place) => [DAYS[place], row[at]])),
    })),
  });
}

/**
 * @param {Groups} groups
 * @param {Analytics} figures
 * @param {string} file
 */
function byGroup(groups, figures, file) {
  const { total, missed_targets: missed, due_targets: due } = figures;
  const hasTargets = dueOf(figures) > 0;
  /** @type {Time} */
  let time = 'first_response';
  /** @type {(one: Group, at: 0 | 1) => Cell} */
  const value = (one, at) => {
    const now = timesOf(one, time)[at];
    if (now == null) return { words: samplesOf(one, time) ? 'too few' : '–', few: true };
    const old = one.previous && timesOf(one.previous, time)[at];
    return el('span.compared', {}, span(now), change(now, old, TIME));
  };
  const { root, draw } = groupPanel({
    name: 'Groups',
    words: 'Median (teal) and P90 (ochre) on one scale from 0 to the longest, and the change from the '
      + `period before. A median needs ${LEAST.p50} conversations, a P90 ${LEAST.p90}.`,
    groups,
    total: { ...total, missed_targets: missed, due_targets: due },
    file,
    more: choice('Time', TIMES, time, (chosen) => { time = chosen; draw(); }),
    columns: [
      { name: 'Conversations', of: ({ sessions }) => sessions },
      { name: 'Messages', of: ({ messages }) => messages },
      { name: 'With this time', of: (one) => samplesOf(one, time) },
      { name: 'Median', of: (one) => timesOf(one, time)[0] ?? null },
      { name: 'P90', of: (one) => timesOf(one, time)[1] ?? null },
      { name: 'Median to P90' },
      ...hasTargets ? [{ name: 'Targets missed', of: missedOf }] : [],
    ],
    cells: (one, all) => {
      const most = Math.max(1, ...all.flatMap((each) => timesOf(each, time).map((at) => at ?? 0)));
      return [
        count.format(one.sessions),
        count.format(one.messages),
        count.format(samplesOf(one, time)),
        value(one, 0),
        value(one, 1),
        range(...timesOf(one, time), most),
        ...hasTargets ? [missedWords(one)] : [],
      ];
    },
  });
  return root;
}
