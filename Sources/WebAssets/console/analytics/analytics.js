// Analytics: how many came, how long they waited, how it went, over 7, 30 or 90 days. Every figure
// says what it rests on; what rests on too little is not drawn. Each chart is a table, one click
// away.

import { el, icon } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { commentPage, comments } from './comments.js';
import { bars, heat, lines, range, ratingScale, ratingWords } from './charts.js';
import { count, fullDate, longDay, mean, shortDate, span } from './marks.js';
import { download, sheet, table } from './tables.js';
import { sentence } from '../shell/rest.js';

const RANGES = [7, 30, 90];
const USUAL = 30;
const DAY = 86_400_000;
/** Samples below which a figure says nothing. */
const LEAST = { p50: 3, p90: 10, rating: 5, operator: 10 };
const week = (weekday) => [1, 2, 3, 4, 5, 6, 7].map((day) => new Intl.DateTimeFormat(undefined, {
  weekday, timeZone: 'UTC' }).format(Date.UTC(2024, 0, day)));
const [WEEK, DAYS] = [week('short'), week('long')];

const iso = (at) => {
  const date = new Date(at);
  const two = (value) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
};

/** @param {import('../shell/pages.js').PageContext} context */
export function analytics(context) {
  const meta = el('span.meta');
  const segments = el('nav.segments', { 'aria-label': 'Period' });
  const csv = el('button.button', { type: 'button', disabled: true }, 'Export CSV');
  const body = el('div.doc-body');
  const title = el('h1', { tabindex: -1 }, 'Analytics');
  const root = el(
    'main.doc',
    { 'aria-label': 'Analytics' },
    el('header', {}, title, meta, el('span.grow'), segments, csv),
    body,
  );
  let turn = 0;
  let shown = '';

  async function show([wanted]) {
    const days = RANGES.includes(Number(wanted)) ? Number(wanted) : USUAL;
    const mine = ++turn;
    segments.replaceChildren(...RANGES.map((each) => el('a', {
      href: `#/analytics/${each}`,
      'aria-current': each === days && 'true',
    }, `${each} days`)));
    body.setAttribute('aria-busy', 'true');
    const now = Date.now();
    const query = (from, to) => ({ from: iso(now - from * DAY), to: iso(now - to * DAY) });
    try {
      const period = query(days - 1, 0);
      const [figures, before, team, words] = await Promise.all([
        context.rest.get('live-chat/analytics', period),
        context.rest.get('live-chat/analytics', query(2 * days - 1, days)).catch(() => null),
        context.rest.get('live-chat/analytics/operators', period),
        commentPage(context.rest, period),
      ]);
      if (mine !== turn) return;
      const sign = JSON.stringify([figures, before, team, words]);
      if (sign !== shown) {
        draw(whole(figures), before, team.operators, days);
        if (figures.total.sessions || words.comments.length) {
          body.append(comments(context.rest, period, words));
        }
      }
      shown = sign;
    } catch (error) {
      if (mine !== turn) return;
      shown = '';
      csv.disabled = true;
      body.replaceChildren(failed(error, () => show([wanted])));
    }
    body.removeAttribute('aria-busy');
  }

  function draw(figures, before, team, days) {
    const { from, to, time_zone: zone, total } = figures;
    meta.textContent = `${shortDate(from)} to ${fullDate(to)}, ${zone.replaceAll('_', ' ')}`;
    csv.disabled = !total.sessions;
    csv.onclick = () => download(`chirrup-${from}-${to}.csv`, sheet(figures));
    body.replaceChildren(...(total.sessions ? [
      tiles(total, before?.total, days),
      el('div.grid', {}, ...panels(figures), operators(team, total)),
    ] : [nothing(days)]));
  }

  return { root, show };
}

/** A day on which nobody came has figures too: none. */
function whole(figures) {
  const known = new Map(figures.days.map((day) => [day.day, day]));
  const days = [];
  for (let at = Date.parse(figures.from); at <= Date.parse(figures.to); at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push(known.get(day) ?? { day, sessions: 0, messages: 0, csat_count: 0 });
  }
  return { ...figures, days };
}

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

function failed(error, again) {
  return el(
    'div.empty',
    { role: 'alert' },
    icon(error.status ? 'alert' : 'nowifi'),
    el('b', {}, 'Analytics could not be loaded'),
    el('p', {}, sentence(error)),
    el('button.button', { type: 'button', click: again }, 'Try again'),
  );
}

function tiles(total, before, days) {
  const { sessions } = total;
  const was = (words) => before?.sessions ? words : `in the last ${days} days`;
  const few = (words) => el('small', { title: `From only ${sessions}` }, words);
  const pair = (name, key) => {
    const [p50, p90] = [total[`${key}_p50_ms`], total[`${key}_p90_ms`]];
    if (p50 == null) return tile(name, few('none yet'), 'no data yet');
    const tail = sessions < LEAST.p90 ? `P90 needs ${LEAST.p90} conversations, there were ${sessions}`
      : `P90 ${span(p90)}${before?.sessions >= LEAST.p90 && before[`${key}_p50_ms`] != null
        ? `, previously ${span(before[`${key}_p50_ms`])} and ${span(before[`${key}_p90_ms`])}` : ''}`;
    return tile(name, sessions < LEAST.p50 ? few('too few') : span(p50), tail);
  };
  const rated = total.csat_count;
  return el(
    'dl.tiles',
    {},
    tile('Conversations', count.format(sessions), was(`${count.format(before?.sessions ?? 0)} in the previous ${days} days`)),
    pair('Waiting time, P50', 'wait'),
    pair('First response, P50', 'first_response'),
    pair('Resolution, P50', 'resolution'),
    rated < LEAST.rating
      ? tile('Satisfaction', few(rated ? 'too few' : 'none yet'), rated === 1 ? '1 rating' : `${rated} ratings`)
      : tile('Satisfaction', [mean.format(total.csat_mean), ' ', el('small', {}, 'of 5')],
        `${count.format(rated)} ratings from ${Math.round(rated / sessions * 100)}\u00a0% of conversations`),
  );
}

const tile = (name, value, words) => el('div', {}, el('dt', {}, name),
  el('dd', {}, ...[value].flat()), el('dd', {}, words));

/** A chart, its sentence, and the same as a table. */
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

function panels({ days, total, by_hour: hours }) {
  return [
    volume(days, total),
    pairPanel('Waiting time', 'From the first message until an operator claims it.', 'wait', days, total),
    pairPanel('First response', 'From the first message to the first reply by an operator.', 'first_response', days, total),
    pairPanel('Time to resolution', 'From the first message until the conversation is closed.', 'resolution', days, total),
    ratings(days, total),
    byHour(hours),
  ];
}

function volume(days, total) {
  const best = days.reduce((most, day) => day.sessions > most.sessions ? day : most);
  const words = `${count.format(total.sessions)} conversations with ${count.format(total.messages)} messages. Busiest day: ${longDay(best.day)}, with ${count.format(best.sessions)}.`;
  return panel({
    title: 'Conversations',
    words,
    className: '.w12',
    draw: () => bars({ days, key: 'sessions', words: `Conversations by day. ${words}` }),
    columns: ['Day', 'Conversations', 'Messages'],
    rows: () => days.map(({ day, sessions, messages }) => [fullDate(day), count.format(sessions), count.format(messages)]),
  });
}

function pairPanel(title, what, key, days, total) {
  const [p50, p90] = [`${key}_p50_ms`, `${key}_p90_ms`];
  const few = days.filter(({ sessions }) => sessions > 0 && sessions < LEAST.p90).length;
  const told = few ? ` ${few === 1 ? '1 day' : `${few} days`} with fewer than ${LEAST.p90} conversations ${
    few === 1 ? 'has' : 'have'} no P90.` : '';
  const figures = total[p50] == null ? 'No data yet.'
    : `Half within ${span(total[p50])}${total.sessions >= LEAST.p90 ? `, nine in ten within ${span(total[p90])}` : ''}.`;
  return panel({
    title,
    words: `${what} ${figures}${told}`,
    draw: () => lines({
      days,
      size: ({ sessions }) => sessions,
      series: [
        { key: p50, name: 'P50', tone: 1, least: LEAST.p50 },
        { key: p90, name: 'P90', tone: 2, least: LEAST.p90 },
      ],
      format: span,
      words: `${title} by day. ${figures}`,
    }),
    columns: ['Day', 'P50', 'P90', 'Conversations'],
    rows: () => days.map((day) => [fullDate(day.day), span(day[p50]), span(day[p90]), count.format(day.sessions)]),
  });
}

function ratings(days, total) {
  const { csat_count: rated, csat_mean: all } = total;
  const figures = rated < LEAST.rating
    ? `${rated === 1 ? '1 rating' : `${rated} ratings`}: too few for an average.`
    : `${mean.format(all)} of 5 from ${count.format(rated)} ratings.`;
  return panel({
    title: 'Satisfaction',
    words: `Average rating per day, from 1 to 5. ${figures} Days with fewer than ${LEAST.rating} ratings are not shown.`,
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

function byHour(hours) {
  const most = Math.max(...hours.flat());
  const day = hours.findIndex((row) => row.includes(most));
  const hour = hours[day].indexOf(most);
  const two = (value) => `${String(value).padStart(2, '0')}:00`;
  const words = most
    ? `When conversations start; darker means more. Busiest: ${DAYS[day]}, ${two(hour)} to ${two((hour + 1) % 24)}, with ${count.format(most)}.`
    : 'When conversations start.';
  return panel({
    title: 'By weekday and hour',
    words,
    className: '.w12',
    draw: () => heat({ hours, dayNames: WEEK, words }),
    columns: ['Hour', ...WEEK],
    rows: () => Array.from({ length: 24 }, (_, at) => [two(at), ...hours.map((row) => count.format(row[at]))]),
  });
}

function operators(team, total) {
  const most = Math.max(1, ...team.map((one) => one.first_response_p90_ms ?? one.first_response_p50_ms ?? 0));
  const few = (words) => ({ words, few: true });
  /** @type {[string, ((one: any) => any)?][]} */
  const columns = [
    ['Operator', (one) => one.name],
    ['Conversations', (one) => one.sessions],
    ['Messages', (one) => one.messages],
    ['P50', (one) => one.first_response_p50_ms],
    ['P90', (one) => one.first_response_p90_ms],
    ['First response'],
    ['Resolution P50', (one) => one.resolution_p50_ms],
    ['Satisfaction', (one) => one.csat_mean],
    ['Ratings', (one) => one.csat_count],
  ];
  const cells = (one, isAll = false) => {
    const [p50, p90, size] = [one.first_response_p50_ms, one.first_response_p90_ms, one.sessions];
    return [
      isAll ? 'All' : el('span', {}, face({ ...one, kind: 'operator' }, '.avatar-sm'), one.name),
      count.format(size),
      count.format(one.messages),
      size < LEAST.p50 ? few('too few') : span(p50),
      size < LEAST.p90 ? few('too few') : span(p90),
      { words: range(size < LEAST.p50 ? null : p50, size < LEAST.p90 ? null : p90, most) },
      size < LEAST.p50 ? few('too few') : span(one.resolution_p50_ms),
      one.csat_count < LEAST.operator ? few(one.csat_count ? 'too few' : '–') : mean.format(one.csat_mean),
      one.csat_count < LEAST.operator ? few(count.format(one.csat_count)) : count.format(one.csat_count),
    ];
  };
  const place = el('div');
  let by = 1;
  let down = true;
  const draw = () => {
    const value = /** @type {(one: any) => any} */ (columns[by][1]);
    const sorted = [...team].sort((one, other) => {
      const [left, right] = [value(one), value(other)];
      if (left == null || right == null) return (left == null ? 1 : 0) - (right == null ? 1 : 0);
      const order = typeof left === 'string' ? left.localeCompare(right) : left - right;
      return down ? -order : order;
    });
    const held = document.activeElement?.closest('th')?.cellIndex;
    place.replaceChildren(table('Operators', columns.map(([name, sortable], at) => sortable ? {
      name,
      order: at === by ? down ? 'descending' : 'ascending' : '',
      click: () => { down = at === by ? !down : at > 0; by = at; draw(); },
    } : name), sorted.map((one) => cells(one)), cells(total, true)));
    if (held != null) place.querySelectorAll('thead th')[held]?.querySelector('button')?.focus();
  };
  draw();
  return el('section.panel.w12', { 'aria-label': 'Operators' },
    el('div.panel-head', {}, el('h2', {}, 'Operators')),
    el('p', {}, `First response: P50 (teal) and P90 (ochre) on one scale from 0 to ${span(most)}. An average needs ${
      LEAST.operator} ratings.`),
    team.length ? place : el('p', {}, 'No operator replied in this period.'));
}
