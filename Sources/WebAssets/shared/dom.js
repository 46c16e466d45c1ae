// Elements, icons and keyed lists. Text enters the document through `append`, which makes text
// nodes, never markup.

/** @typedef {Node | string | null | undefined | false | 0} Child */

/**
 * `button` of `button.primary`.
 * @template {string} S
 * @typedef {S extends `${infer Tag}.${string}` ? Tag : S} TagOf
 */

/**
 * The element that `el` makes. What is no HTML is drawn and never asked anything.
 * @template {string} S
 * @typedef {TagOf<S> extends keyof HTMLElementTagNameMap
 *   ? HTMLElementTagNameMap[TagOf<S>] : HTMLElement} ElementOf
 */

/** @typedef {{[K in keyof HTMLElementEventMap]?: ((event: HTMLElementEventMap[K]) => any) | null | false}
 *   & Record<string, any>} Props */

/**
 * `el('p.bubble', { dir: 'auto' }, text)`: functions become listeners, null and false are left out,
 * lists are spread.
 * @template {string} S
 * @param {S} spec the tag and classes
 * @param {Props} props listeners and attributes
 * @param {(Child | readonly Child[])[]} children
 * @returns {ElementOf<S>}
 */
export function el(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split('.');
  const space = /^(svg|path)$/.test(tag) ? '2000/svg' : '1999/xhtml';
  const node = document.createElementNS(`http://www.w3.org/${space}`, tag);
  if (classes[0]) node.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value != null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat()) if (child) node.append(child);
  return /** @type {ElementOf<S>} */ (node);
}

export const CIRCLE = 'M10 3.5a6.5 6.5 0 1 0 .1 0z';

/**
 * Strokes in a box of 20. Each page adds what else it needs.
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

/** @param {string} state sent, delivered, read or failed, or `clock` until then */
export const tick = (state) => icon(state, 'tick');

/**
 * What `reconcile` has drawn, by key.
 * @typedef {Map<string, {sign: string, node: HTMLElement}>} Drawn
 */

/** @typedef {HTMLElement & {drawn?: Drawn}} Drawing */

/**
 * Makes the children of `parent` those of `models`, in order, touching only what differs.
 * @param {Drawing} parent
 * @param {{key: string}[]} models
 * @param {(model: any, node?: HTMLElement) => HTMLElement} draw
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
 * A text in pieces: addresses become links. Only what is plain ASCII does, so that no letter looks
 * like another one, and what turns the text around it leaves it as it is: the text of a link shows
 * its true host.
 * @param {string} text
 */
export const linked = (text) => text.split(/(https?:\/\/[\w.:-]+(?:[/?#][!-~]*[\w/])?)/).map(
  (part, odd) => odd % 2
    ? el('a', { dir: 'ltr', href: part, target: '_blank', rel: 'noopener' }, part)
    : part
);
