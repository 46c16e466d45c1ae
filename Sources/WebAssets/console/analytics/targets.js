// Targets (SLA): how many were missed, by the day on which they were due.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { bars } from './charts.js';
import { count, fullDate, longDay } from './marks.js';
import { choice, panel, percent, targetColumns, tile } from './panel.js';

/** @typedef {keyof TargetCounts} Target */

/** @type {Record<Target, string>} */
const NAMES = { first_response: t('First response'), resolution: t('Resolution') };
/** @type {Record<Target, string[]>} */
const COLUMNS = {
  first_response: [t('First response: missed'), t('First response: due')],
  resolution: [t('Resolution: missed'), t('Resolution: due')],
};
const TARGETS = /** @type {Target[]} */ (Object.keys(NAMES));

/** @param {TargetCounts=} counts */
const sum = (counts) => counts ? counts.first_response + counts.resolution : 0;

/** @param {TargetFigures} figures */
export const dueOf = ({ due_targets: due }) => sum(due);

/** @param {TargetFigures} figures */
export const missedOf = ({ missed_targets: missed }) => sum(missed);

/** @param {TargetFigures} figures */
export const missedWords = (figures) => dueOf(figures)
  ? t('{1} of {2}', count.format(missedOf(figures)), count.format(dueOf(figures))) : '–';

/**
 * The share of targets that were met; nothing if none was due.
 * @param {TargetFigures} figures
 */
export function targetTile(figures) {
  const due = dueOf(figures);
  return due > 0 && tile(t('Targets met'), percent((due - missedOf(figures)) / due * 100),
    t('{} missed', missedWords(figures)));
}

/**
 * @param {Analytics} figures
 * @param {string} file
 */
export function missedOverTime(figures, file) {
  const { days } = figures;
  let target = TARGETS.find((name) => figures.missed_targets?.[name]) ?? TARGETS[0];
  const place = el('div.contents');
  const draw = () => {
    /** @type {(one: TargetFigures, name?: Target) => number} */
    const missed = (one, name = target) => one.missed_targets?.[name] ?? 0;
    /** @type {(one: TargetFigures, name?: Target) => number} */
    const due = (one, name = target) => one.due_targets?.[name] ?? 0;
    const worst = days.reduce((most, day) => missed(day) > missed(most) ? day : most);
    const most = missed(worst)
      ? t('Worst day: {1}, with {2}.', longDay(worst.day), count.format(missed(worst))) : '';
    const words = `${t('By the day on which they were due. {1} of {2} were missed.',
      count.format(missed(figures)), count.format(due(figures)))} ${most}`.trim();
    place.replaceChildren(panel({
      title: t('Missed targets'),
      words,
      className: '.w12',
      draw: () => bars({ days, of: missed, words: t('Missed targets by day. {}', words) }),
      columns: [t('Day'), ...TARGETS.flatMap((name) => COLUMNS[name])],
      rows: () => days.map((day) => [fullDate(day.day), ...TARGETS.flatMap((name) => [
        count.format(missed(day, name)), count.format(due(day, name))])]),
      file,
      data: () => days.map((day) => ({ day: day.day, ...targetColumns(day) })),
      choice: choice(t('Target'), NAMES, target, (chosen) => {
        target = chosen;
        draw();
        /** @type {HTMLElement?} */ (place.querySelector('[aria-pressed=true]'))?.focus();
      }),
    }));
  };
  draw();
  return place;
}
