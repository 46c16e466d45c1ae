// What all charts share: SVG elements, axes with round numbers, and values in words.

import { el } from '../../shared/dom.js';

const SPACE = 'http://www.w3.org/2000/svg';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400,
  172_800, 604_800].map((seconds) => seconds * SECOND);
const LINES = 4; // of the grid at most

export const count = new Intl.NumberFormat();
export const mean = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** @returns {SVGElement} */
export function mark(name, attributes = {}, ...children) {
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value != null && value !== false) node.setAttribute(key, String(value));
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

/** A span of time as it is said: 0:43, 12 min, 3 h 20 min, 2 d. */
export function span(ms) {
  if (ms == null) return '–';
  if (ms < 10 * MINUTE) {
    const seconds = Math.round(ms / SECOND);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  }
  if (ms < HOUR) return `${Math.round(ms / MINUTE)}\u00a0min`;
  if (ms < DAY) {
    const minutes = Math.round(ms / MINUTE);
    const rest = minutes % 60;
    return `${Math.floor(minutes / 60)}\u00a0h${rest && minutes < 600 ? ` ${rest}\u00a0min` : ''}`;
  }
  return `${mean.format(ms / DAY)}\u00a0d`;
}

/** The lines of a grid for spans of time from 0, the last one above all values. */
export function timeTicks(most) {
  const step = TIME_STEPS.find((each) => most / each <= LINES) ?? Math.ceil(most / LINES / DAY) * DAY;
  return ticksBy(step, most).map((value) => [value, tickWords(value, step)]);
}

function tickWords(value, step) {
  if (!value) return '0';
  if (step < MINUTE) return `${Math.floor(value / MINUTE)}:${String(value % MINUTE / SECOND).padStart(2, '0')}`;
  if (step < HOUR) return `${value / MINUTE}\u00a0min`;
  return step < DAY ? `${value / HOUR}\u00a0h` : `${value / DAY}\u00a0d`;
}

/** The same for things that are counted. */
export function countTicks(most) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, most / LINES)));
  const step = [1, 2, 5, 10].map((each) => each * size).find((each) => most / each <= LINES) ?? size;
  return ticksBy(Math.max(1, step), most).map((value) => [value, count.format(value)]);
}

function ticksBy(step, most) {
  const last = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: last + 1 }, (_, at) => at * step);
}

/** Days are dates without a zone, so they are named in UTC. */
const asDate = (day) => new Date(`${day}T00:00:00Z`);
const name = (options) => {
  const format = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', ...options });
  return (/** @type {string} */ day) => format.format(asDate(day));
};
export const shortDay = name({ weekday: 'short', day: 'numeric' });
export const shortDate = name({ day: 'numeric', month: 'short' });
export const longDay = name({ weekday: 'long', day: 'numeric', month: 'long' });
export const fullDate = name({ day: 'numeric', month: 'short', year: 'numeric' });

/**
 * A chart that is drawn as wide as its place, so its text never shrinks.
 * @param {string} words the chart in one sentence, its name for who cannot see it
 * @param {(width: number) => {height: number, marks: any[]}} draw
 */
export function chart(words, draw) {
  const place = el('div.plot');
  let last = 0;
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

/** Grid lines with their words at the left. */
export function grid(ticks, y, left, right) {
  return ticks.flatMap(([value, words], at) => [
    mark('line', { class: at ? 'grid-line' : 'base', x1: left, x2: right, y1: y(value), y2: y(value) }),
    mark('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, words),
  ]);
}

/** Which days have their name below the axis: as many as there is room for, the last among them. */
export function dayMarks(days, x, y, width) {
  const room = Math.max(2, Math.floor(width / 84));
  const step = Math.max(1, Math.ceil(days.length / room));
  const words = days.length > 14 ? shortDate : shortDay;
  return days.map((day, at) => (days.length - 1 - at) % step ? null : mark('text', {
    x: x(at), y, 'text-anchor': 'middle' }, words(day))).filter(Boolean);
}

/**
 * A rule that follows the pointer and says what stands there.
 * @param {{left: number, right: number, top: number, bottom: number, days: any[],
 *   x: (at: number) => number, words: (at: number) => string}} on
 */
export function reader({ left, right, top, bottom, days, x, words }) {
  const rule = mark('line', { class: 'reader', y1: top, y2: bottom, visibility: 'hidden' });
  const back = mark('rect', { class: 'reader-back', y: top - 12, height: 18, rx: 4, visibility: 'hidden' });
  const text = mark('text', { class: 'reader-words', y: top + 1, visibility: 'hidden' });
  const field = mark('rect', {
    x: left, y: top, width: Math.max(0, right - left), height: bottom - top, fill: 'transparent',
  });
  const show = (visible) => {
    for (const node of [rule, back, text]) node.setAttribute('visibility', visible ? 'visible' : 'hidden');
  };
  field.addEventListener('pointermove', (/** @type {any} */ event) => {
    const box = field.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    const at = Math.min(days.length - 1, Math.max(0, nearest(part * box.width + left, days.length, x)));
    rule.setAttribute('x1', String(x(at)));
    rule.setAttribute('x2', String(x(at)));
    text.textContent = words(at);
    const width = /** @type {any} */ (text).getComputedTextLength();
    const start = Math.min(Math.max(left, x(at) - width / 2), right - width);
    text.setAttribute('x', String(start));
    back.setAttribute('x', String(start - 6));
    back.setAttribute('width', String(width + 12));
    show(true);
  });
  field.addEventListener('pointerleave', () => show(false));
  return [rule, back, text, field];
}

function nearest(px, length, x) {
  let best = 0;
  for (let at = 1; at < length; at += 1) {
    if (Math.abs(x(at) - px) < Math.abs(x(best) - px)) best = at;
  }
  return best;
}
