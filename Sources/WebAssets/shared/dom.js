// Elements, icons and keyed lists. Text enters the document through `append`, which makes text
// nodes and never markup.

/** @typedef {Node | string | null | undefined | false | 0} Child */

/**
 * The tag of a specification: `button` of `button.primary`.
 * @template {string} S
 * @typedef {S extends `${infer Tag}.${string}` ? Tag : S} TagOf
 */

/**
 * The type of the element that `el` makes. SVG counts as HTMLElement: its properties are not used.
 * @template {string} S
 * @typedef {TagOf<S> extends keyof HTMLElementTagNameMap
 *   ? HTMLElementTagNameMap[TagOf<S>] : HTMLElement} ElementOf
 */

/**
 * Listeners by event, and attributes.
 * @typedef {{[K in keyof HTMLElementEventMap]?:
 *   ((event: HTMLElementEventMap[K]) => unknown) | null | false}
 *   & Record<string, unknown>} Props
 */

/**
 * `el('p.bubble', { dir: 'auto' }, text)` makes an element. Functions among the properties become
 * listeners; null and false are left out; lists among the children are flattened.
 * @template {string} S
 * @param {S} spec the tag and classes
 * @param {Props} props
 * @param {(Child | readonly Child[])[]} children
 * @returns {ElementOf<S>}
 */
export function el(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split('.');
  const space = /^(svg|path)$/.test(tag) ? '2000/svg' : '1999/xhtml';
  const node = document.createElementNS(`http://www.w3.org/${space}`, tag);
  if (classes[0]) node.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') {
      node.addEventListener(name, /** @type {EventListener} */ (value));
    } else if (value != null && value !== false) {
      node.setAttribute(name, value === true ? '' : `${value}`);
    }
  }
  for (const child of children.flat()) if (child) node.append(child);
  return /** @type {ElementOf<S>} */ (node);
}

export const CIRCLE = 'M10 3.5a6.5 6.5 0 1 0 .1 0z';

/**
 * Icons as strokes in a box of 20 × 20. Widget and console add their own.
 * @type {Record<string, string>}
 */
export const paths = {
  x: 'M5.5 5.5l9 9M14.5 5.5l-9 9',
  up: 'M10 16V5M5 9l5-5 5 5',
  down: 'M5 8l5 5 5-5',
  check: 'M4 10l4 4 8-8',
  clock: `${CIRCLE}M10 6v4l3 2`,
  delivered: 'M1 10l4 4 8-8M10 13l1 1 8-8',
  failed: `${CIRCLE}M10 6v5M10 14v.01`,
};
paths.sent = paths.check;
paths.read = paths.delivered;

/** @param {string} name one of `paths` @param {string=} more classes */
export const icon = (name, more = '') => el(
  `svg.icon.${name}.${more}`,
  { viewBox: '0 0 20 20', 'aria-hidden': 'true' },
  el('path', { d: paths[name] }),
);

/** @param {string} state `clock` (not sent yet), `sent`, `delivered`, `read` or `failed` */
export const tick = (state) => icon(state, 'tick');

/**
 * The nodes that `reconcile` has drawn, by key, with the model they show.
 * @typedef {Map<string, {sign: string, node: HTMLElement}>} Drawn
 */

/** @typedef {HTMLElement & {drawn?: Drawn}} Drawing */

/**
 * Makes the children of `parent` those of `models`, in order, and changes only the nodes whose
 * model differs.
 * @template {{key: string}} Model
 * @param {Drawing} parent
 * @param {Model[]} models
 * @param {(model: Model, node?: HTMLElement) => HTMLElement} draw may change the node that it gets
 */
export function reconcile(parent, models, draw) {
  const old = parent.drawn ?? new Map();
  /** @type {Drawn} */
  const drawn = parent.drawn = new Map();
  let next = parent.firstElementChild;
  for (const model of models) {
    const sign = JSON.stringify(model);
    let known = old.get(model.key);
    if (known?.sign !== sign) known = { sign, node: draw(model, known?.node) };
    drawn.set(model.key, known);
    if (next && known.node === next) next = next.nextElementSibling;
    else parent.insertBefore(known.node, next);
  }
  for (const [key, { node }] of old) if (drawn.get(key)?.node !== node) node.remove();
}

/**
 * A text in pieces, its URLs as links. A URL is plain ASCII and has its own direction: no letter of
 * another script and no bidi control can make the text of a link show another host.
 * @param {string} text
 */
export const linked = (text) => text.split(/(https?:\/\/[\w.:-]+(?:[/?#][!-~]*[\w/])?)/).map(
  (part, odd) => odd % 2
    ? el('a', { dir: 'ltr', href: part, target: '_blank', rel: 'noopener' }, part)
    : part
);
