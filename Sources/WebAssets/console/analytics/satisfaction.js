// How visitors rate conversations: the share of good ratings, the average and how many rate at all;
// over time, by operator, team or tag, and one by one.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { change, MEAN, RESPONSE, SHARE } from './change.js';
import { lines, shareScale, starBars, starShares } from './charts.js';
import { groupPanel } from './groups.js';
import { count, fullDate, mean } from './marks.js';
import {
  choice, few, flat, goodOf, LEAST, panel, percent, ratingsOf, responseOf, tile,
} from './panel.js';
import { ratings } from './ratings.js';

/** @typedef {import('./tables.js').Cell} Cell */
/** @typedef {import('./groups.js').Groups} Groups */

const DAY = 86_400_000;

/**
 * @param {Analytics} figures
 * @param {Groups?} groups null: those of one group are shown
 * @param {Rest} rest
 * @param {Query} scope of the requests
 */
export function satisfaction(figures, groups, rest, scope) {
  const { from, to, days, total, previous } = figures;
  const file = (/** @type {string} */ name) => `chirrup-${name}-${from}-${to}.csv`;
  return [
    tiles(total, previous),
    el(
      'div.grid',
      {},
      goodOverTime(days, total, file('satisfaction')),
      stars(total, file('stars')),
      groups && byGroup(groups, total, file('satisfaction-groups')),
    ),
    ratings(rest, { from, to, ...scope }, groups),
  ];
}

/**
 * @param {Figures} one
 * @param {number=} least
 */
const meanOf = ({ csat_count: size, csat_mean: value }, least = LEAST.rating) => (
  size < least ? null : value);

/**
 * As it is shown.
 * @param {number | null | undefined} value
 */
const tenths = (value) => value == null ? null : Math.round(value * 10) / 10;

/**
 * @param {Figures} total
 * @param {Figures} before
 */
function tiles(total, before) {
  const [good, average, response] = [goodOf(total), tenths(meanOf(total)), responseOf(total)];
  const old = tenths(meanOf(before));
  const none = few(total.csat_count ? t('too few') : t('none yet'));
  return el(
    'dl.tiles',
    {},
    tile(t('Good ratings'), good == null ? none : percent(good),
      change(good, goodOf(before), SHARE), t('4 or 5 stars')),
    tile(t('Average'), average == null ? none : [mean.format(average), ' ', el('small', {}, t('of 5'))],
      change(average, old, MEAN),
      old == null ? '' : t('{} in the period before', mean.format(old))),
    tile(t('Response rate'), percent(response), change(response, responseOf(before), RESPONSE),
      ratingsOf(total)),
  );
}

/**
 * The figures of weeks, which begin on Monday, from those of days.
 * @param {DayFigures[]} days
 * @returns {DayFigures[]}
 */
export function weeksOf(days) {
  /** @type {Map<string, DayFigures>} */
  const weeks = new Map();
  for (const day of days) {
    const at = Date.parse(day.day);
    const monday = at - (new Date(at).getUTCDay() + 6) % 7 * DAY;
    const key = new Date(monday).toISOString().slice(0, 10);
    const week = weeks.get(key) ?? { ...day, day: key, sessions: 0, csat_stars: [0, 0, 0, 0, 0] };
    const all = week.csat_stars.map((value, star) => value + day.csat_stars[star]);
    const size = all.reduce((sum, value) => sum + value, 0);
    weeks.set(key, {
      ...week,
      sessions: week.sessions + day.sessions,
      csat_count: size,
      csat_stars: all,
      csat_mean: size ? all.reduce((sum, value, star) => sum + value * (star + 1), 0) / size : null,
    });
  }
  return [...weeks.values()];
}

/**
 * @param {DayFigures[]} days
 * @param {Figures} total
 * @param {string} file
 */
export function goodOverTime(days, total, file) {
  const weeks = weeksOf(days);
  /** @type {'day' | 'week'} */
  let step = days.length > 31 ? 'week' : 'day';
  const rows = () => step === 'day' ? days : weeks;
  const figures = total.csat_count < LEAST.rating ? t('Too few ratings.')
    : t('{1} of {2} ratings have 4 or 5 stars.', percent(goodOf(total)), count.format(total.csat_count));
  const place = el('div.contents');
  const draw = () => {
    const isDaily = step === 'day';
    place.replaceChildren(panel({
      title: t('Good ratings over time'),
      words: isDaily
        ? t('By the day on which the conversation began. {1} Days with fewer than {2} ratings are not shown.', figures, LEAST.rating)
        : t('By the week in which the conversation began. {1} Weeks with fewer than {2} ratings are not shown.', figures, LEAST.rating),
      draw: () => lines({
        days: rows(),
        size: ({ csat_count: size }) => size,
        series: [{ of: (each) => goodOf(each), name: '', tone: 1 }],
        format: percent,
        scale: shareScale,
        words: isDaily ? t('Good ratings by day. {}', figures)
          : t('Good ratings by week. {}', figures),
      }),
      columns: [isDaily ? t('Day') : t('Week from'), t('Good'), t('Average'), t('Ratings'), t('Conversations'), t('Response rate')],
      rows: () => rows().map((each) => [
        fullDate(each.day), percent(goodOf(each, 1)),
        each.csat_mean == null ? '–' : mean.format(each.csat_mean),
        count.format(each.csat_count), count.format(each.sessions), percent(responseOf(each)),
      ]),
      file,
      data: () => rows().map((each) => ratingColumns({ [step]: each.day }, each)),
      choice: choice(t('Step'), { day: t('Day'), week: t('Week') }, step, (chosen) => {
        step = chosen;
        draw();
        /** @type {HTMLElement?} */ (place.querySelector('[aria-pressed=true]'))?.focus();
      }),
    }));
  };
  draw();
  return place;
}

/**
 * The columns of a file about ratings.
 * @param {object} first
 * @param {Figures} one
 */
function ratingColumns(first, one) {
  const { csat_mean: average, csat_count: size, sessions } = one;
  const all = Object.entries(flat(one)).filter(([key]) => /^csat_\d/.test(key));
  return { ...first, conversations: sessions, ratings: size, mean: average,
    good_percent: goodOf(one, 1)?.toFixed(1), ...Object.fromEntries(all) };
}

/**
 * @param {Figures} total
 * @param {string} file
 */
function stars(total, file) {
  const rows = [5, 4, 3, 2, 1].map((value) => ({ value, size: total.csat_stars[value - 1] }));
  const words = t('How many ratings have how many stars, of {}.', count.format(total.csat_count));
  return panel({
    title: t('Stars'),
    words,
    draw: () => starBars({ stars: total.csat_stars, words: `${words} ${rows.map(({ value, size }) => (
      t('{1} stars: {2}', value, size))).join(', ')}.` }),
    columns: [t('Stars'), t('Ratings'), t('Share|of all')],
    rows: () => rows.map(({ value, size }) => [String(value), count.format(size),
      total.csat_count ? percent(size / total.csat_count * 100) : '–']),
    file,
    data: () => rows.map(({ value, size }) => ({ stars: value, ratings: size })),
  });
}

/**
 * @param {Groups} groups
 * @param {Figures} total
 * @param {string} file
 */
function byGroup(groups, total, file) {
  /** @type {(one: Figures) => number?} */
  const good = (one) => goodOf(one, LEAST.group);
  /** @type {(one: Figures, words: Cell) => Cell} */
  const enough = (one, words) => one.csat_count < LEAST.group
    ? { words: one.csat_count ? t('too few') : '–', few: true } : words;
  return groupPanel({
    name: t('Ratings by group'),
    choose: t('Ratings by'),
    words: t('From 1 star (left) to 5 stars (right). A share or an average needs {} ratings. A conversation with two tags counts for both.',
      LEAST.group),
    groups,
    total,
    file,
    columns: [
      { name: t('Conversations'), of: ({ sessions }) => sessions },
      { name: t('Ratings'), of: ({ csat_count: size }) => size },
      { name: t('Response rate'), of: responseOf },
      { name: t('Average'), of: (one) => meanOf(one, LEAST.group) ?? null },
      { name: t('Good'), of: good },
      { name: t('1 to 5 stars') },
    ],
    cells: (one) => [
      count.format(one.sessions),
      count.format(one.csat_count),
      percent(responseOf(one)),
      enough(one, mean.format(one.csat_mean ?? 0)),
      enough(one, el('span.compared', {}, percent(good(one)),
        change(good(one), one.previous && good(one.previous), SHARE))),
      starShares(one.csat_stars),
    ],
  }).root;
}
