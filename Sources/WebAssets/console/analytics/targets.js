// Targets (SLA): how many were missed, by the day on which they were due.

import { el } from '../../shared/dom.js';
import { bars } from './charts.js';
import { count, fullDate, longDay } from './marks.js';
import { choice, panel, percent, targetColumns, tile } from './panel.js';

/** @typedef {keyof TargetCounts} Target */

/** @type {Record<Target, string>} */
const NAMES = { first_response: 'First response', resolution: 'Resolution' };
const TARGETS = /** @type {Target[]} */ (Object.keys(NAMES));

/** @param {TargetCounts=} counts */
const sum = (counts) => counts ? counts.first_response + counts.resolution : 0;

/** @param {TargetFigures} figures */
export const dueOf = ({ due_targets: due }) => sum(due);

/** @param {TargetFigures} figures */
export const missedOf = ({ missed_targets: missed }) => sum(missed);

/** @param {TargetFigures} figures */
export const missedWords = (figures) => dueOf(figures)
  ? `${count.format(missedOf(figures))} of ${count.format(dueOf(figures))}` : '–';

/**
 * The share of targets that were met; nothing if none was due.
 * @param {TargetFigures} figures
 */
export function targetTile(figures) {
  const due = dueOf(figures);
  return due > 0 && tile('Targets met', percent((due - missedOf(figures)) / due * 100),
    `${missedWords(figures)} missed`);
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
      ? ` Worst day: ${longDay(worst.day)}, with ${count.format(missed(worst))}.` : '';
    const words = `By the day on which they were due. ${count.format(missed(figures))} of ${
      count.format(due(figures))} were missed.${most}`;
    place.replaceChildren(panel({
      title: 'Missed targets',
      words,
      className: '.w12',
      draw: () => bars({ days, of: missed, words: `Missed targets by day. ${words}` }),
      columns: ['Day', ...TARGETS.flatMap((name) => [
        `${NAMES[name]}: missed`, `${NAMES[name]}: due`])],
      rows: () => days.map((day) => [fullDate(day.day), ...TARGETS.flatMap((name) => [
        count.format(missed(day, name)), count.format(due(day, name))])]),
      file,
      data: () => days.map((day) => ({ day: day.day, ...targetColumns(day) })),
      choice: choice('Target', NAMES, target, (chosen) => {
        target = chosen;
        draw();
        /** @type {HTMLElement?} */ (place.querySelector('[aria-pressed=true]'))?.focus();
      }),
    }));
  };
  draw();
  return place;
}
