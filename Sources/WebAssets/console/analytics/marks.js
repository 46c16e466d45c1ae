// The parts that all charts share: SVG elements, axes with round numbers, values in words.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';

const SPACE = 'http://www.w3.org/2000/svg';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400,
  172_800, 604_800].map((seconds) => seconds * SECOND);
const LINES = 4; // of the grid, at most

/** @typedef {[value: number, words: string]} Tick a line of the grid */
/** @typedef {(value: number) => number} Scale from a value or an index to px */
/** @typedef {SVGElement | string | null | undefined | false} Mark falsy ones are left out */

export const count = new Intl.NumberFormat(locale);
export const mean = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | number | null | undefined | false>} attributes
 * @param {Mark[]} children
 */
export function mark(name, attributes = {}, ...children) {
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value != null && value !== false) node.setAttribute(key, String(value));
  }
  node.append(...children.filter(Boolean));
  return node;
}

/**
 * A time span: 0:43, 12 min, 3 h 20 min, 2 d; a dash for none.
 * @param {number | null | undefined} ms
 */
export function span(ms) {
  if (ms == null) return '–';
  if (ms < 10 * MINUTE) {
    const seconds = Math.round(ms / SECOND);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  }
  if (ms < HOUR) return t('{}\u00a0min', Math.round(ms / MINUTE));
  if (ms < DAY) {
    const minutes = Math.round(ms / MINUTE);
    const rest = minutes % 60;
    const hours = Math.floor(minutes / 60);
    return rest && minutes < 600 ? t('{1}\u00a0h {2}\u00a0min', hours, rest) : t('{}\u00a0h', hours);
  }
  return t('{}\u00a0d', mean.format(ms / DAY));
}

/**
 * The ticks for time spans from 0; the last one is above all values.
 * @param {number} most the largest value, in ms
 * @returns {Tick[]}
 */
export function timeTicks(most) {
  const step = TIME_STEPS.find((each) => most / each <= LINES)
    ?? Math.ceil(most / LINES / DAY) * DAY;
  return ticksBy(step, most).map((value) => [value, tickWords(value, step)]);
}

/**
 * @param {number} value
 * @param {number} step
 */
function tickWords(value, step) {
  if (!value) return '0';
  if (step < MINUTE) {
    const seconds = String(value % MINUTE / SECOND).padStart(2, '0');
    return `${Math.floor(value / MINUTE)}:${seconds}`;
  }
  if (step < HOUR) return t('{}\u00a0min', value / MINUTE);
  return step < DAY ? t('{}\u00a0h', value / HOUR) : t('{}\u00a0d', value / DAY);
}

/**
 * The ticks for counts from 0.
 * @param {number} most the largest value
 * @returns {Tick[]}
 */
export function countTicks(most) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, most / LINES)));
  const steps = [1, 2, 5, 10].map((each) => each * size);
  const step = steps.find((each) => most / each <= LINES) ?? size;
  return ticksBy(Math.max(1, step), most).map((value) => [value, count.format(value)]);
}

/**
 * @param {number} step
 * @param {number} most
 */
function ticksBy(step, most) {
  const last = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: last + 1 }, (_, at) => at * step);
}

/**
 * A date has no time zone, so it is formatted in UTC.
 * @param {string} day
 */
const asDate = (day) => new Date(`${day}T00:00:00Z`);
/**
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {(day: string) => string}
 */
const name = (options) => {
  const format = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options });
  return (day) => format.format(asDate(day));
};
export const shortDay = name({ weekday: 'short', day: 'numeric' });
export const shortDate = name({ day: 'numeric', month: 'short' });
export const longDay = name({ weekday: 'long', day: 'numeric', month: 'long' });
export const fullDate = name({ day: 'numeric', month: 'short', year: 'numeric' });

/**
 * A chart that is as wide as its place, so its text keeps its size.
 * @param {string} words the chart in one sentence, for screen readers
 * @param {(width: number) => {height: number, marks: Mark[]}} draw
 */
export function chart(words, draw) {
  const place = el('div.plot');
  let last = 0;
  /** @param {number} width */
  const redraw = (width) => {
    if (width < 40 || width === last) return;
    last = width;
    const { height, marks } = draw(width);
    place.replaceChildren(mark('svg', {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': words,
    }, ...marks));
  };
  new ResizeObserver(([{ contentRect }]) => redraw(Math.floor(contentRect.width))).observe(place);
  return place;
}

/**
 * Grid lines with their words at the left.
 * @param {Tick[]} ticks
 * @param {Scale} y
 * @param {number} left
 * @param {number} right
 */
export function grid(ticks, y, left, right) {
  return ticks.flatMap(([value, words], at) => [
    mark('line', { class: at ? 'grid-line' : 'base', x1: left, x2: right, y1: y(value), y2: y(value) }),
    mark('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, words),
  ]);
}

/**
 * The names of days below the axis: as many as there is room for, the last day among them.
 * @param {string[]} days
 * @param {Scale} x of an index
 * @param {number} y
 * @param {number} width
 */
export function dayMarks(days, x, y, width) {
  const room = Math.max(2, Math.floor(width / 84));
  const step = Math.max(1, Math.ceil(days.length / room));
  const isDaily = days.length < 2 || asDate(days[1]).getTime() - asDate(days[0]).getTime() <= DAY;
  const words = isDaily && days.length <= 14 ? shortDay : shortDate;
  return days.map((day, at) => (days.length - 1 - at) % step ? null : mark('text', {
    x: x(at), y, 'text-anchor': 'middle' }, words(day))).filter(Boolean);
}

/**
 * A vertical line that follows the pointer, with the values of the day there.
 * @param {{left: number, right: number, top: number, bottom: number, days: unknown[],
 *   x: Scale, words: (at: number) => string}} on `x` and `words` are those of an index
 */
export function reader({ left, right, top, bottom, days, x, words }) {
  const rule = mark('line', { class: 'reader', y1: top, y2: bottom, visibility: 'hidden' });
  const back = mark('rect', {
    class: 'reader-back', y: top - 12, height: 18, rx: 4, visibility: 'hidden',
  });
  const text = mark('text', { class: 'reader-words', y: top + 1, visibility: 'hidden' });
  const field = mark('rect', {
    x: left, y: top, width: Math.max(0, right - left), height: bottom - top, fill: 'transparent',
  });
  /** @param {boolean} isVisible */
  const show = (isVisible) => {
    for (const node of [rule, back, text]) {
      node.setAttribute('visibility', isVisible ? 'visible' : 'hidden');
    }
  };
  field.addEventListener('pointermove', (event) => {
    const box = field.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    const at = nearest(part * box.width + left, days.length, x);
    rule.setAttribute('x1', String(x(at)));
    rule.setAttribute('x2', String(x(at)));
    text.textContent = words(at);
    const width = text.getComputedTextLength();
    const start = Math.min(Math.max(left, x(at) - width / 2), right - width);
    text.setAttribute('x', String(start));
    back.setAttribute('x', String(start - 6));
    back.setAttribute('width', String(width + 12));
    show(true);
  });
  field.addEventListener('pointerleave', () => show(false));
  return [rule, back, text, field];
}

/**
 * The index whose position is nearest.
 * @param {number} px
 * @param {number} length
 * @param {Scale} x
 */
function nearest(px, length, x) {
  let best = 0;
  for (let at = 1; at < length; at += 1) {
    if (Math.abs(x(at) - px) < Math.abs(x(best) - px)) best = at;
  }
  return best;
}
