// The charts of Analytics. Bars begin at 0, a gap in the data is a gap in the line, and each line
// has its name at its end.

import { t } from '../shell/language.js';
import {
  chart, count, countTicks, dayMarks, grid, longDay, mark, reader, shortDate, timeTicks,
} from './marks.js';

/** @typedef {import('./marks.js').Mark} Mark */
/** @typedef {import('./marks.js').Scale} Scale */
/** @typedef {import('./marks.js').Tick} Tick */
/** @typedef {(value: number) => string} Format */

/**
 * A line: `of` is its value, null without enough samples, and `tone` the number of its colour.
 * @typedef {{of: (day: DayFigures) => number | null | undefined, name: string,
 *   tone: number}} Series
 */
/** @typedef {{one: Series, points: (number | null)[]}} Drawn a line; null is a gap */

const APART = 14; // px between two labels

/**
 * One or two lines over days.
 * @param {{days: DayFigures[], series: Series[], size: (day: DayFigures) => number, words: string,
 *   format: Format, scale?: Tick[]}} on `size` is the number of samples
 */
export function lines({ days, series, size, words, format, scale }) {
  const names = days.map(({ day }) => day);
  const most = Math.max(1, ...series.flatMap((one) => days.map((day) => one.of(day) ?? 0)));
  const ticks = scale ?? timeTicks(most);
  return chart(words, (width) => {
    const [left, top, height, bottom] = [48, 24, 228, 196];
    const right = width - 92;
    const low = ticks[0][0];
    const high = ticks[ticks.length - 1][0];
    /** @type {Scale} */
    const x = (at) => days.length < 2 ? (left + right) / 2
      : left + 6 + at * (right - left - 12) / (days.length - 1);
    /** @type {Scale} */
    const y = (at) => bottom - (at - low) / (high - low) * (bottom - top);
    const drawn = series.map((one) => ({ one, points: days.map((day) => one.of(day) ?? null) }));
    const marks = [
      ...grid(ticks, y, left, right),
      ...dayMarks(names, x, bottom + 18, right - left),
      ...drawn.flatMap(({ one, points }) => line(points, one.tone, x, y)),
      ...ends(drawn, x, y, format, right),
      ...peak(drawn[drawn.length - 1], x, y, format, names, left, right),
      ...reader({
        left, right, top, bottom, days, x,
        words: (at) => [
          longDay(names[at]),
          ...drawn.map(({ one, points: { [at]: point } }) => (
            point == null ? '' : `${one.name} ${format(point)}`
          )),
          samples(size(days[at])),
        ].filter(Boolean).join(' · '),
      }),
    ];
    return { height, marks };
  });
}

/** @param {number} size */
const samples = (size) => size === 0 ? t('no data') : `n = ${count.format(size)}`;

/**
 * The path with its gaps. A point between two gaps is a dot.
 * @param {(number | null)[]} points
 * @param {number} tone
 * @param {Scale} x
 * @param {Scale} y
 */
function line(points, tone, x, y) {
  let path = '';
  /** @type {SVGElement[]} */
  const dots = [];
  points.forEach((value, at) => {
    if (value == null) return;
    const isFirst = points[at - 1] == null;
    if (isFirst && points[at + 1] == null) {
      dots.push(mark('circle', { class: `f${tone} ring`, cx: x(at), cy: y(value), r: 4 }));
    } else path += `${isFirst ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return [path && mark('path', { class: `line s${tone}`, d: path }), ...dots];
}

/**
 * The last value of each line beside its end. Labels do not overlap.
 * @param {Drawn[]} drawn
 * @param {Scale} x
 * @param {Scale} y
 * @param {Format} format
 * @param {number} right
 */
function ends(drawn, x, y, format, right) {
  const last = drawn.flatMap(({ one, points }) => {
    const at = points.findLastIndex((point) => point != null);
    const value = points[at];
    return value == null ? [] : [{ one, at, value, y: y(value) }];
  });
  last.sort((one, other) => one.y - other.y);
  let free = -Infinity;
  return last.flatMap(({ one, at, value, y: height }) => {
    const words = Math.max(height, free);
    free = words + APART;
    return [
      mark('circle', { class: `f${one.tone} ring`, cx: x(at), cy: height, r: 4 }),
      mark('text', { class: `f${one.tone}`, x: right + 8, y: words + 4 },
        `${one.name} ${format(value)}`.trim()),
    ];
  });
}

/**
 * The label above the highest point, if it is much higher than the median and not at the end.
 * @param {Drawn} drawn
 * @param {Scale} x
 * @param {Scale} y
 * @param {Format} format
 * @param {string[]} names
 * @param {number} left
 * @param {number} right
 */
function peak({ one, points }, x, y, format, names, left, right) {
  const known = points.flatMap((value) => value ?? []).sort((some, other) => some - other);
  if (known.length < 5) return [];
  const most = known[known.length - 1];
  const at = points.indexOf(most);
  if (most < known[known.length >> 1] * 1.8 || at > points.length - 3) return [];
  const words = t('{1} on {2}', format(most), shortDate(names[at]));
  const half = words.length * 3.2; // half the width of the text, about
  return [
    mark('circle', { class: `f${one.tone} ring`, cx: x(at), cy: y(most), r: 3 }),
    mark('text', { class: `f${one.tone}`, x: Math.min(right - half, Math.max(left + half, x(at))),
      y: y(most) - 8, 'text-anchor': 'middle' }, words),
  ];
}

/**
 * Bars over days.
 * @param {{days: DayFigures[], of: (day: DayFigures) => number, words: string}} on
 */
export function bars({ days, of, words }) {
  const names = days.map(({ day }) => day);
  const values = days.map((day) => of(day));
  const most = Math.max(...values);
  const ticks = countTicks(most);
  return chart(words, (width) => {
    const [left, right, top, bottom, height] = [48, width - 4, 24, 192, 224];
    const step = (right - left) / days.length;
    const thick = Math.max(1, Math.min(32, step * 0.74));
    /** @type {Scale} */
    const x = (at) => left + step * (at + 0.5);
    /** @type {Scale} */
    const y = (value) => bottom - value / ticks[ticks.length - 1][0] * (bottom - top);
    const best = values.indexOf(most);
    return {
      height,
      marks: [
        ...grid(ticks, y, left, right),
        ...dayMarks(names, x, bottom + 18, right - left),
        ...values.map((value, at) => value > 0 && mark('rect', {
          class: 'f1', x: (x(at) - thick / 2).toFixed(1), y: y(value).toFixed(1),
          width: thick.toFixed(1), height: (bottom - y(value)).toFixed(1), rx: thick > 6 ? 2 : 0,
        })),
        most > 0 && mark('text', { class: 'strong', x: Math.min(right - 12, Math.max(left + 12, x(best))),
          y: y(most) - 6, 'text-anchor': 'middle' }, count.format(most)),
        ...reader({ left, right, top, bottom, days, x,
          words: (at) => `${longDay(names[at])} · ${count.format(values[at])}` }),
      ],
    };
  });
}

const SHADES = [0, 0.16, 0.34, 0.54, 0.76, 1]; // opacities

/**
 * Weekdays by hours: the higher the value, the darker the cell.
 * @param {{hours: number[][], dayNames: string[], words: string}} on Monday first
 */
export function heat({ hours, dayNames, words }) {
  const most = Math.max(1, ...hours.flat());
  return chart(words, (width) => {
    const left = 44;
    const cell = (width - left) / 24;
    const tall = Math.min(26, Math.max(18, cell));
    /** @param {number} value */
    const shade = (value) => value === 0 ? 0
      : Math.max(1, Math.ceil(value / most * (SHADES.length - 1)));
    const every = cell < 22 ? 6 : cell < 30 ? 4 : 2; // hours between two labels
    return {
      height: tall * 7 + 24,
      marks: [
        ...hours.flatMap((row, day) => [
          mark('text', { x: left - 10, y: day * tall + tall / 2 + 4, 'text-anchor': 'end' },
            dayNames[day]),
          ...row.map((value, hour) => mark('rect', {
            class: value ? 'f1 heat' : 'band heat', x: (left + hour * cell + 1).toFixed(1),
            y: day * tall + 1, width: Math.max(1, cell - 2).toFixed(1), height: tall - 2, rx: 2,
            'fill-opacity': value ? SHADES[shade(value)] : null,
          }, mark('title', {},
              `${dayNames[day]} ${String(hour).padStart(2, '0')}:00, ${count.format(value)}`))),
        ]),
        ...Array.from({ length: 24 }, (_, hour) => hour % every ? null : mark('text', {
          x: left + hour * cell + 1, y: tall * 7 + 16 }, String(hour).padStart(2, '0'))),
      ],
    };
  });
}

/**
 * P50 and P90 of one operator, on the scale of all operators.
 * @param {number | null | undefined} low
 * @param {number | null | undefined} high
 * @param {number} most the end of the scale
 */
export function range(low, high, most) {
  const wide = 160;
  /** @type {Scale} */
  const x = (value) => 6 + Math.min(1, value / most) * (wide - 12);
  return mark('svg', { width: wide, height: 16, viewBox: `0 0 ${wide} 16`, 'aria-hidden': 'true',
    class: 'range' },
  mark('line', { class: 'grid-line', x1: 0, x2: wide, y1: 8, y2: 8 }),
  low != null && high != null
      && mark('line', { class: 's4', 'stroke-width': 3, x1: x(low), x2: x(high), y1: 8, y2: 8 }),
  low != null && mark('circle', { class: 'f1 ring', cx: x(low), cy: 8, r: 5 }),
  high != null && mark('circle', { class: 'f2 ring', cx: x(high), cy: 8, r: 5 }));
}

/** @type {Tick[]} */
export const shareScale = [0, 25, 50, 75, 100].map((value) => [value, t('{}\u00a0%', value)]);

/**
 * A bar for each number of stars, the best first.
 * @param {{stars: number[], words: string}} on
 */
export function starBars({ stars, words }) {
  const most = Math.max(1, ...stars);
  return chart(words, (width) => {
    const [left, tall] = [32, 32];
    /** @type {Scale} */
    const x = (value) => left + value / most * (width - left - 64);
    return {
      height: tall * stars.length,
      marks: [5, 4, 3, 2, 1].flatMap((value, row) => {
        const size = stars[value - 1];
        const middle = row * tall + tall / 2;
        return [
          mark('text', { x: left - 10, y: middle + 4, 'text-anchor': 'end' }, `${value}\u00a0★`),
          size > 0 && mark('rect', { class: `star${value}`, x: left, y: middle - 9,
            width: Math.max(1, x(size) - left).toFixed(1), height: 18, rx: 2 }),
          mark('text', { class: 'strong', x: (x(size) + 8).toFixed(1), y: middle + 4 },
            count.format(size)),
        ];
      }),
    };
  });
}

/**
 * The shares of 1 to 5 stars of one group, beside its figures.
 * @param {number[]} stars
 */
export function starShares(stars) {
  const wide = 160;
  const whole = stars.reduce((sum, value) => sum + value, 0);
  let at = 0;
  return mark('svg', { width: wide, height: 16, viewBox: `0 0 ${wide} 16`, 'aria-hidden': 'true',
    class: 'range' },
  mark('line', { class: 'grid-line', x1: 0, x2: wide, y1: 8, y2: 8 }),
  ...stars.map((value, index) => {
    const size = whole ? value / whole * wide : 0;
    at += size;
    return value > 0 && mark('rect', { class: `star${index + 1}`, x: (at - size).toFixed(1), y: 2,
      width: Math.max(1, size - 1).toFixed(1), height: 12 });
  }));
}
