// The Analytics page: volume, times and ratings over 7, 30 or 90 days. Every figure counts the
// conversations that began in the period, and states its number of samples; with too few it is not
// shown. Each chart can be shown as a table, and saved as a file. The page can be limited to an
// operator, a team or a tag.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { fullDate, shortDate } from './marks.js';
import { overview } from './overview.js';
import { flat } from './panel.js';
import { when } from './ratings.js';
import { satisfaction } from './satisfaction.js';
import { scopeField, scopeOf, scopePath, scopeQuery } from './scope.js';
import { csv, download } from './tables.js';
import { statusOf } from '../shell/api.js';
import { sentence } from '../shell/rest.js';

const RANGES = [7, 30, 90];
const USUAL = 30;
/** Figures are those of now, unless they are older than this. */
const FRESH = 60_000;

/** @typedef {import('./groups.js').Groups} Groups */
/** @typedef {import('./scope.js').Scope} Scope */

/**
 * The parts of the page by their names in the address: `#/analytics/30/ratings/team/ID`.
 * @type {Record<string, {title: string, draw: (figures: Analytics, groups: Groups?, rest: Rest,
 *   scope: Query) => HTMLElement[]}>}
 */
const PARTS = {
  overview: { title: t('Overview'), draw: overview },
  ratings: { title: t('Satisfaction'), draw: satisfaction },
};

/**
 * @param {import('../shell/pages.js').PageContext} context
 * @returns {import('../shell/pages.js').Page}
 */
export function analytics({ rest }) {
  const meta = el('span.meta');
  const parts = el('nav.segments', { 'aria-label': t('Part') });
  const segments = el('nav.segments', { 'aria-label': t('Period') });
  const file = el('button.button', { type: 'button', disabled: true }, t('Export CSV'));
  const body = el('div.doc-body');
  let place = { days: USUAL, part: 'overview' };
  const scopes = scopeField((path) => { location.hash = address(place.days, place.part, path); });
  const root = el(
    'main.doc',
    { 'aria-label': t('Analytics') },
    el('header', {}, el('h1', { tabindex: -1 }, t('Analytics')), meta, el('span.grow'), scopes.root,
      parts, segments, file), body,
  );
  let turn = 0;
  let shown = '';

  /** @param {string[]} path the number of days, the part, and what it is limited to */
  async function show([wanted, name = '', kind, id]) {
    const days = RANGES.includes(Number(wanted)) ? Number(wanted) : USUAL;
    const part = Object.hasOwn(PARTS, name) ? name : 'overview';
    const scope = scopeOf(kind, id);
    const path = scopePath(scope);
    const mine = ++turn;
    place = { days, part };
    segments.replaceChildren(...RANGES.map((each) => el('a', {
      href: address(each, part, path),
      'aria-current': each === days && 'true',
    }, t('{} days', each))));
    parts.replaceChildren(...Object.entries(PARTS).map(([key, { title }]) => el('a', {
      href: address(days, key, path),
      'aria-current': key === part && 'page',
    }, title)));
    body.setAttribute('aria-busy', 'true');
    try {
      const { figures, groups } = await load(rest, days, scope);
      if (mine !== turn) return;
      meta.textContent = heading(figures);
      const sign = part + path + signOf([figures, groups]);
      if (sign !== shown) draw(figures, groups, part, scope);
      shown = sign;
    } catch (error) {
      if (mine !== turn) return;
      shown = '';
      file.disabled = true;
      body.replaceChildren(failed(error, () => show([wanted, name, kind, id])));
    }
    body.removeAttribute('aria-busy');
  }

  /**
   * @param {Analytics} figures
   * @param {Groups} groups
   * @param {string} part
   * @param {Scope?} scope
   */
  function draw(figures, groups, part, scope) {
    const { from, to, total, days } = figures;
    file.disabled = !total.sessions;
    file.onclick = () => download(`chirrup-${from}-${to}.csv`, csv(days.map(flat)));
    scopes.draw(groups, scope);
    body.replaceChildren(...(total.sessions
      ? PARTS[part].draw(figures, scope ? null : groups, rest, scopeQuery(scope))
      : [nothing(days.length, scope && address(days.length, part, ''))]));
  }

  return { root, show };
}

/**
 * @param {number} days
 * @param {string} part
 * @param {string} scope its part of the address, or ''
 */
function address(days, part, scope) {
  const end = scope ? `/${part}/${scope}` : part === 'overview' ? '' : `/${part}`;
  return `#/analytics/${days}${end}`;
}

/**
 * @param {Rest} rest
 * @param {number} days
 * @param {Scope?} scope
 */
async function load(rest, days, scope) {
  const figures = await rest.get('live-chat/analytics', { days, ...scopeQuery(scope) });
  // The same days, even if midnight has passed.
  const period = { from: figures.from, to: figures.to };
  const [{ operators }, { teams }, { channels }, { tags }] = await Promise.all([
    rest.get('live-chat/analytics/operators', period),
    rest.get('live-chat/analytics/teams', period),
    rest.get('live-chat/analytics/channels', period),
    rest.get('live-chat/analytics/tags', period),
  ]);
  return { figures, groups: { operators, teams, channels, tags } };
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
  const [first, last, place] = [shortDate(from), fullDate(to), zone.replaceAll('_', ' ')];
  return Date.now() - Date.parse(at) > FRESH
    ? t('{1} to {2}, {3}, counted until {4}', first, last, place, when.format(Date.parse(at)))
    : t('{1} to {2}, {3}', first, last, place);
}

/**
 * @param {number} days
 * @param {string?} all the address of the page with all conversations, if this one has not
 */
function nothing(days, all) {
  return el(
    'div.empty',
    {},
    icon('chart'),
    el('b', {}, t('No conversations in the last {} days', days)),
    all ? el('a.button', { href: all }, t('Show all conversations')) : [
      el('p', {}, t('Analytics start with the first conversation. Is the widget on your site?')),
      el('a.button', { href: '#/settings/appearance' }, t('Get the snippet')),
    ],
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
    el('b', {}, t('Analytics could not be loaded')),
    el('p', {}, sentence(error)),
    el('button.button', { type: 'button', click: again }, t('Try again')),
  );
}
