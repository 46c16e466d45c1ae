// The Analytics page: volume, times and ratings over 7, 30 or 90 days. Each figure states its
// number of samples; with too few it is not shown. Each chart can be shown as a table.

import { el, icon } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { commentPage, comments, when } from './comments.js';
import { bars, heat, lines, range, ratingScale, ratingWords } from './charts.js';
import { count, fullDate, longDay, mean, shortDate, span } from './marks.js';
import { csv, download, table } from './tables.js';
import { statusOf } from '../shell/api.js';
import { sentence } from '../shell/rest.js';

const RANGES = [7, 30, 90];
const USUAL = 30;
const DAY = 86_400_000;
/** Figures are those of now, unless they are older than this. */
const FRESH = 60_000;
/** The samples that a figure needs. */
const LEAST = { p50: 3, p90: 10, rating: 5, operator: 10 };

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {import('./tables.js').Cell} Cell */
/** @typedef {'wait' | 'first_response' | 'resolution'} Time */

/** @param {'short' | 'long'} weekday */
const week = (weekday) => [1, 2, 3, 4, 5, 6, 7].map((day) => new Intl.DateTimeFormat(undefined, {
  weekday, timeZone: 'UTC' }).format(Date.UTC(2024, 0, day)));
const [WEEK, DAYS] = [week('short'), week('long')];

/**
 * Two digits.
 * @param {number} value
 */
const two = (value) => String(value).padStart(2, '0');

/**
 * A local date as YYYY-MM-DD.
 * @param {number} at
 */
const iso = (at) => {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
};

/**
 * @param {number} now
 * @param {number} from days ago
 * @param {number} to days ago
 * @returns {Period}
 */
const periodOf = (now, from, to) => ({ from: iso(now - from * DAY), to: iso(now - to * DAY) });

/**
 * @param {import('../shell/pages.js').PageContext} context
 * @returns {import('../shell/pages.js').Page}
 */
export function analytics(context) {
  const meta = el('span.meta');
  const segments = el('nav.segments', { 'aria-label': 'Period' });
  const file = el('button.button', { type: 'button', disabled: true }, 'Export CSV');
  const body = el('div.doc-body');
  const root = el(
    'main.doc',
    { 'aria-label': 'Analytics' },
    el('header', {}, el('h1', { tabindex: -1 }, 'Analytics'), meta, el('span.grow'), segments, file),
    body,
  );
  let turn = 0;
  let shown = '';

  /** @param {string[]} path the number of days */
  async function show([wanted]) {
    const days = RANGES.includes(Number(wanted)) ? Number(wanted) : USUAL;
    const mine = ++turn;
    segments.replaceChildren(...RANGES.map((each) => el('a', {
      href: `#/analytics/${each}`,
      'aria-current': each === days && 'true',
    }, `${each} days`)));
    body.setAttribute('aria-busy', 'true');
    const now = Date.now();
    const period = periodOf(now, days - 1, 0);
    try {
      const [figures, before, team, words] = await Promise.all([
        context.rest.get('live-chat/analytics', { ...period }),
        context.rest.get('live-chat/analytics', { ...periodOf(now, 2 * days - 1, days) })
          .catch(() => null),
        context.rest.get('live-chat/analytics/operators', { ...period }),
        commentPage(context.rest, period),
      ]);
      if (mine !== turn) return;
      meta.textContent = heading(figures);
      const sign = signOf([figures, before, team, words]);
      if (sign !== shown) {
        draw(complete(figures), before, team.operators, days);
        if (figures.total.sessions || words.comments.length) {
          body.append(comments(context.rest, period, words));
        }
      }
      shown = sign;
    } catch (error) {
      if (mine !== turn) return;
      shown = '';
      file.disabled = true;
      body.replaceChildren(failed(error, () => show([wanted])));
    }
    body.removeAttribute('aria-busy');
  }

  /**
   * @param {Analytics} figures
   * @param {Analytics?} before those of the period before
   * @param {OperatorFigures[]} team
   * @param {number} days
   */
  function draw(figures, before, team, days) {
    const { from, to, total } = figures;
    file.disabled = !total.sessions;
    file.onclick = () => download(`chirrup-${from}-${to}.csv`, csv(figures.days));
    body.replaceChildren(...(total.sessions ? [
      tiles(total, before?.total, days),
      el('div.grid', {}, ...panels(figures), operators(team, total)),
    ] : [nothing(days)]));
  }

  return { root, show };
}

/**
 * What the page is drawn from, as a text: not the time until which it is counted.
 * @param {unknown[]} answers
 */
const signOf = (answers) => JSON.stringify(answers,
  (key, value) => key === 'counted_at' ? undefined : value);

/**
 * The days, their time zone, and of when the figures are unless they are fresh.
 * @param {Analytics} figures
 */
function heading({ from, to, time_zone: zone, counted_at: at }) {
  const age = Date.now() - Date.parse(at) > FRESH ? `, counted until ${when.format(Date.parse(at))}` : '';
  return `${shortDate(from)} to ${fullDate(to)}, ${zone.replaceAll('_', ' ')}${age}`;
}

/**
 * The figures with a zero for each day that the answer leaves out.
 * @param {Analytics} figures
 * @returns {Analytics}
 */
function complete(figures) {
  const known = new Map(figures.days.map((day) => [day.day, day]));
  /** @type {DayFigures[]} */
  const days = [];
  for (let at = Date.parse(figures.from); at <= Date.parse(figures.to); at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push(known.get(day) ?? { day, sessions: 0, messages: 0, csat_count: 0 });
  }
  return { ...figures, days };
}

/** @param {number} days */
function nothing(days) {
  return el(
    'div.empty',
    {},
    icon('chart'),
    el('b', {}, `No conversations in the last ${days} days`),
    el('p', {}, 'Analytics start with the first conversation. Is the widget on your site?'),
    el('a.button', { href: '#/settings/appearance' }, 'Get the snippet'),
  );
}

/**
 * @param {unknown} error
 * @param {() => void} again
 */
function failed(error, again) {
  return el(
    'div.empty',
    { role: 'alert' },
    icon(statusOf(error) ? 'alert' : 'nowifi'),
    el('b', {}, 'Analytics could not be loaded'),
    el('p', {}, sentence(error)),
    el('button.button', { type: 'button', click: again }, 'Try again'),
  );
}

/**
 * @param {Figures} total
 * @param {Figures | undefined} before those of the period before
 * @param {number} days
 */
function tiles(total, before, days) {
  const { sessions } = total;
  /** @param {string} words */
  const few = (words) => el('small', { title: `From only ${sessions}` }, words);
  /** @type {(name: string, time: Time) => HTMLElement} */
  const pair = (name, time) => {
    const [p50, p90] = timesOf(total, time);
    if (p50 == null) return tile(name, few('none yet'), 'no data yet');
    const [oldP50, oldP90] = before && before.sessions >= LEAST.p90 ? timesOf(before, time) : [];
    const tail = sessions < LEAST.p90 ? `P90 needs ${LEAST.p90} conversations, there were ${sessions}`
      : `P90 ${span(p90)}${oldP50 == null ? '' : `, previously ${span(oldP50)} and ${span(oldP90)}`}`;
    return tile(name, sessions < LEAST.p50 ? few('too few') : span(p50), tail);
  };
  const rated = total.csat_count;
  const old = before?.sessions
    ? `${count.format(before.sessions)} in the previous ${days} days` : `in the last ${days} days`;
  return el(
    'dl.tiles',
    {},
    tile('Conversations', count.format(sessions), old),
    pair('Waiting time, P50', 'wait'),
    pair('First response, P50', 'first_response'),
    pair('Resolution, P50', 'resolution'),
    rated < LEAST.rating
      ? tile('Satisfaction', few(rated ? 'too few' : 'none yet'), ratingsOf(rated))
      : tile('Satisfaction', [mean.format(total.csat_mean ?? 0), ' ', el('small', {}, 'of 5')],
        `${count.format(rated)} ratings from ${Math.round(rated / sessions * 100)}\u00a0% of conversations`),
  );
}

/** @param {number} rated */
const ratingsOf = (rated) => (rated === 1 ? '1 rating' : `${rated} ratings`);

/**
 * P50 and P90 of a time, in ms.
 * @param {Figures} figures
 * @param {Time} time
 */
const timesOf = (figures, time) => [figures[`${time}_p50_ms`], figures[`${time}_p90_ms`]];

/**
 * @param {string} name
 * @param {Child | Child[]} value
 * @param {string} words
 */
const tile = (name, value, words) => el('div', {}, el('dt', {}, name),
  el('dd', {}, value), el('dd', {}, words));

/**
 * A chart with a sentence, and a button that shows it as a table.
 * @param {{title: string, words: string, className?: string, draw: () => HTMLElement,
 *   columns: string[], rows: () => Cell[][]}} on
 */
function panel({ title, words, className = '', draw, columns, rows }) {
  const place = el('div', {}, draw());
  const button = el('button.button.quiet.as-table', {
    type: 'button',
    'aria-pressed': 'false',
    'aria-label': `${title} as a table`,
    click() {
      const now = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(now));
      place.replaceChildren(now ? table(title, columns, rows()) : draw());
    },
  }, 'Table');
  return el(`section.panel${className}`, { 'aria-label': title },
    el('div.panel-head', {}, el('h2', {}, title), button), el('p', {}, words), place);
}

/** @param {Analytics} figures */
function panels({ days, total, by_hour: hours }) {
  return [
    volume(days, total),
    pairPanel('Waiting time', 'From the first message until an operator claims it.', 'wait', days, total),
    pairPanel('First response', 'From the first message to the first reply by an operator.',
      'first_response', days, total),
    pairPanel('Time to resolution', 'From the first message until the conversation is closed.',
      'resolution', days, total),
    ratings(days, total),
    byHour(hours),
  ];
}

/**
 * @param {DayFigures[]} days
 * @param {Figures} total
 */
function volume(days, total) {
  const best = days.reduce((most, day) => day.sessions > most.sessions ? day : most);
  const words = `${count.format(total.sessions)} conversations, of which ${
    count.format(total.closed ?? 0)} are closed, with ${
    count.format(total.messages)} messages. Busiest day: ${longDay(best.day)}, with ${
    count.format(best.sessions)}.`;
  return panel({
    title: 'Conversations',
    words,
    className: '.w12',
    draw: () => bars({ days, key: 'sessions', words: `Conversations by day. ${words}` }),
    columns: ['Day', 'Conversations', 'Closed', 'Messages of closed'],
    rows: () => days.map(({ day, sessions, closed = 0, messages }) => [
      fullDate(day), count.format(sessions), count.format(closed), count.format(messages),
    ]),
  });
}

/**
 * @param {string} title
 * @param {string} definition
 * @param {Time} time
 * @param {DayFigures[]} days
 * @param {Figures} total
 */
function pairPanel(title, definition, time, days, total) {
  const few = days.filter(({ sessions }) => sessions > 0 && sessions < LEAST.p90).length;
  const gaps = few ? ` ${few === 1 ? '1 day' : `${few} days`} with fewer than ${
    LEAST.p90} conversations ${few === 1 ? 'has' : 'have'} no P90.` : '';
  const [p50, p90] = timesOf(total, time);
  const tail = total.sessions >= LEAST.p90 ? `, nine in ten within ${span(p90)}` : '';
  const figures = p50 == null ? 'No data yet.' : `Half within ${span(p50)}${tail}.`;
  return panel({
    title,
    words: `${definition} ${figures}${gaps}`,
    draw: () => lines({
      days,
      size: ({ sessions }) => sessions,
      series: [
        { key: `${time}_p50_ms`, name: 'P50', tone: 1, least: LEAST.p50 },
        { key: `${time}_p90_ms`, name: 'P90', tone: 2, least: LEAST.p90 },
      ],
      format: span,
      words: `${title} by day. ${figures}`,
    }),
    columns: ['Day', 'P50', 'P90', 'Conversations'],
    rows: () => days.map((day) => [
      fullDate(day.day), ...timesOf(day, time).map(span), count.format(day.sessions),
    ]),
  });
}

/**
 * @param {DayFigures[]} days
 * @param {Figures} total
 */
function ratings(days, total) {
  const { csat_count: rated, csat_mean: all } = total;
  const figures = rated < LEAST.rating
    ? `${ratingsOf(rated)}: too few for an average.`
    : `${mean.format(all ?? 0)} of 5 from ${count.format(rated)} ratings.`;
  return panel({
    title: 'Satisfaction',
    words: `Average rating per day, from 1 to 5. ${figures} Days with fewer than ${
      LEAST.rating} ratings are not shown.`,
    draw: () => lines({
      days,
      size: ({ csat_count: size }) => size,
      series: [{ key: 'csat_mean', name: '', tone: 3, least: LEAST.rating }],
      format: ratingWords,
      scale: ratingScale,
      words: `Satisfaction by day. ${figures}`,
    }),
    columns: ['Day', 'Average', 'Ratings'],
    rows: () => days.map(({ day, csat_count: size, csat_mean: value }) => [fullDate(day),
      value == null ? '–' : mean.format(value), count.format(size)]),
  });
}

/** @param {number[][]} hours */
function byHour(hours) {
  const most = Math.max(...hours.flat());
  const day = hours.findIndex((row) => row.includes(most));
  const hour = hours[day].indexOf(most);
  /** @param {number} value */
  const clock = (value) => `${two(value)}:00`;
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
  });
}

/**
 * The columns of the operators' table: the name, and the member that it can be sorted by.
 * @type {[name: string, key?: keyof OperatorFigures][]}
 */
const COLUMNS = [
  ['Operator', 'name'],
  ['Conversations', 'sessions'],
  ['Closed', 'closed'],
  ['Messages of closed', 'messages'],
  ['P50', 'first_response_p50_ms'],
  ['P90', 'first_response_p90_ms'],
  ['First response'],
  ['Resolution P50', 'resolution_p50_ms'],
  ['Satisfaction', 'csat_mean'],
  ['Ratings', 'csat_count'],
];

/**
 * @param {string | Node} name
 * @param {Figures} one
 * @param {number} most the end of the scale
 * @returns {Cell[]}
 */
function operatorCells(name, one, most) {
  const [p50, p90] = timesOf(one, 'first_response');
  const { sessions: size, csat_count: rated } = one;
  /** @param {string} words */
  const few = (words) => ({ words, few: true });
  return [
    name,
    count.format(size),
    count.format(one.closed ?? 0),
    count.format(one.messages),
    size < LEAST.p50 ? few('too few') : span(p50),
    size < LEAST.p90 ? few('too few') : span(p90),
    range(size < LEAST.p50 ? null : p50, size < LEAST.p90 ? null : p90, most),
    size < LEAST.p50 ? few('too few') : span(one.resolution_p50_ms),
    rated < LEAST.operator ? few(rated ? 'too few' : '–') : mean.format(one.csat_mean ?? 0),
    rated < LEAST.operator ? few(count.format(rated)) : count.format(rated),
  ];
}

/**
 * In the order of a member. Without a value, an operator is last.
 * @param {OperatorFigures[]} team
 * @param {keyof OperatorFigures} key
 * @param {boolean} down
 */
const sorted = (team, key, down) => [...team].sort(({ [key]: left }, { [key]: right }) => {
  if (left == null || right == null) return (left == null ? 1 : 0) - (right == null ? 1 : 0);
  const order = typeof left === 'string' || typeof right === 'string'
    ? String(left).localeCompare(String(right)) : left - right;
  return down ? -order : order;
});

/**
 * @param {OperatorFigures[]} team
 * @param {Figures} total
 */
function operators(team, total) {
  const most = Math.max(1, ...team.map(
    (one) => one.first_response_p90_ms ?? one.first_response_p50_ms ?? 0
  ));
  const place = el('div');
  let by = 1;
  let down = true;
  const draw = () => {
    const columns = COLUMNS.map(([name, key], at) => key ? {
      name,
      order: at === by ? down ? 'descending' : 'ascending' : '',
      click: () => { down = at === by ? !down : at > 0; by = at; draw(); },
    } : name);
    const rows = sorted(team, COLUMNS[by][1] ?? 'name', down).map((one) => operatorCells(
      el('span', {}, face({ ...one, kind: 'operator' }, '.avatar-sm'), one.name), one, most,
    ));
    const held = document.activeElement?.closest('th')?.cellIndex;
    place.replaceChildren(table('Operators', columns, rows, operatorCells('All', total, most)));
    if (held != null) place.querySelectorAll('thead th')[held]?.querySelector('button')?.focus();
  };
  draw();
  return el('section.panel.w12', { 'aria-label': 'Operators' },
    el('div.panel-head', {}, el('h2', {}, 'Operators')),
    el('p', {}, `First response: P50 (teal) and P90 (ochre) on one scale from 0 to ${
      span(most)}. An average needs ${LEAST.operator} ratings.`),
    team.length ? place : el('p', {}, 'No operator replied in this period.'));
}
