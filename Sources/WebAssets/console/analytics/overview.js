// Volume and times of a period, against the period before, and by operator, team or tag.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
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

/**
 * @param {'short' | 'long'} weekday
 * @param {string=} language
 */
const week = (weekday, language = locale) => [1, 2, 3, 4, 5, 6, 7].map(
  (day) => new Intl.DateTimeFormat(language, { weekday, timeZone: 'UTC' })
    .format(Date.UTC(2024, 0, day)));
const [WEEK, DAYS] = [week('short'), week('long')];
const COLUMNS = week('long', 'en'); // of a file

/** @type {Record<Time, string>} */
const TIMES = {
  first_response: t('First response'), resolution: t('Resolution'), wait: t('Waiting time'),
};
/** @type {Record<Time, string>} */
const MEDIANS = {
  first_response: t('First response, median'), resolution: t('Resolution, median'),
  wait: t('Waiting time, median'),
};
/** @type {Record<Time, string>} */
const DEFINITIONS = {
  wait: t('From the first message until an operator claims it.'),
  first_response: t('From the first message to the first reply by an operator.'),
  resolution: t('From the first message until the conversation is closed.'),
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
    const name = MEDIANS[time];
    const size = samplesOf(total, time);
    const [p50, p90] = timesOf(total, time);
    const [oldP50, oldP90] = timesOf(before, time);
    if (p50 == null) {
      return tile(name, few(size ? t('too few') : t('none yet')),
        t('From {1} of {2}', size, sessions));
    }
    return tile(
      name,
      span(p50),
      change(p50, oldP50, TIME),
      p90 == null ? t('P90 needs {1} conversations, there were {2}', LEAST.p90, size)
        : ['P90 ', span(p90), oldP90 != null && ', ', change(p90, oldP90, TIME)],
    );
  };
  const good = goodOf(total);
  return el(
    'dl.tiles',
    {},
    tile(t('Conversations'), count.format(sessions), change(sessions, before.sessions, NUMBER),
      t('{1} in the {2} days before', count.format(before.sessions), days)),
    ...['wait', 'first_response', 'resolution'].map((time) => pair(/** @type {Time} */ (time))),
    good == null
      ? tile(t('Good ratings'), few(total.csat_count ? t('too few') : t('none yet')), ratingsOf(total))
      : tile(t('Good ratings'), percent(good), change(good, goodOf(before), SHARE),
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
  const words = t('{1} conversations with {2} messages; {3} of them are closed. Busiest day: {4}, with {5}.',
    count.format(total.sessions), count.format(total.messages), count.format(total.closed),
    longDay(best.day), count.format(best.sessions));
  return panel({
    title: t('Conversations'),
    words,
    className: '.w12',
    draw: () => bars({ days, of: ({ sessions }) => sessions, words: t('Conversations by day. {}', words) }),
    columns: [t('Day'), t('Conversations'), t('Claimed'), t('Answered'), t('Closed'), t('Messages')],
    rows: () => days.map(({ day, sessions, claimed, answered, closed, messages }) => [
      fullDate(day), ...[sessions, claimed, answered, closed, messages].map(count.format),
    ]),
    file,
    data: () => days.map(flat),
  });
}

/**
 * @param {string} size
 * @param {number | null | undefined} p50
 * @param {number | null | undefined} p90
 */
function spread(size, p50, p90) {
  if (p50 == null) return t('Too few conversations.');
  return p90 == null ? t('Of {1} conversations, half within {2}.', size, span(p50))
    : t('Of {1} conversations, half within {2}, nine in ten within {3}.', size, span(p50), span(p90));
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
  const gaps = !scarce ? ''
    : scarce === 1 ? t('1 day with fewer than {} of them has no P90.', LEAST.p90)
    : t('{1} days with fewer than {2} of them have no P90.', scarce, LEAST.p90);
  const figures = spread(count.format(size(total)), ...timesOf(total, time));
  return panel({
    title,
    words: `${DEFINITIONS[time]} ${figures} ${gaps}`.trim(),
    draw: () => lines({
      days,
      size,
      series: [
        { of: (day) => timesOf(day, time)[0], name: 'P50', tone: 1 },
        { of: (day) => timesOf(day, time)[1], name: 'P90', tone: 2 },
      ],
      format: span,
      words: t('{1} by day. {2}', title, figures),
    }),
    columns: [t('Day'), 'P50', 'P90', t('Conversations')],
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
    ? t('When conversations start; darker means more. Busiest: {1}, {2} to {3}, with {4}.', DAYS[day],
      clock(hour), clock((hour + 1) % 24), count.format(most))
    : t('When conversations start.');
  return panel({
    title: t('By weekday and hour'),
    words,
    className: '.w12',
    draw: () => heat({ hours, dayNames: WEEK, words }),
    columns: [t('Hour'), ...WEEK],
    rows: () => Array.from({ length: 24 }, (_, at) => [
      clock(at), ...hours.map((row) => count.format(row[at])),
    ]),
    file,
    data: () => Array.from({ length: 24 }, (_, at) => ({
      hour: clock(at), ...Object.fromEntries(hours.map((row, place) => [COLUMNS[place], row[at]])),
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
    if (now == null) return { words: samplesOf(one, time) ? t('too few') : '–', few: true };
    const old = one.previous && timesOf(one.previous, time)[at];
    return el('span.compared', {}, span(now), change(now, old, TIME));
  };
  const { root, draw } = groupPanel({
    name: t('Groups'),
    choose: t('Groups by'),
    words: t('Median (teal) and P90 (ochre) on one scale from 0 to the longest, and the change from the period before. A median needs {1} conversations, a P90 {2}.',
      LEAST.p50, LEAST.p90),
    groups,
    total: { ...total, missed_targets: missed, due_targets: due },
    file,
    more: choice(t('Time'), TIMES, time, (chosen) => { time = chosen; draw(); }),
    columns: [
      { name: t('Conversations'), of: ({ sessions }) => sessions },
      { name: t('Messages'), of: ({ messages }) => messages },
      { name: t('With this time'), of: (one) => samplesOf(one, time) },
      { name: t('Median'), of: (one) => timesOf(one, time)[0] ?? null },
      { name: 'P90', of: (one) => timesOf(one, time)[1] ?? null },
      { name: t('Median to P90') },
      ...hasTargets ? [{ name: t('Targets missed'), of: missedOf }] : [],
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
