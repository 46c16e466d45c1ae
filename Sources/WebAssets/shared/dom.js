// Elements, icons and keyed lists. Text enters the document through `append`, which makes text
// nodes, never markup.

/**
 * `el('p.bubble', { dir: 'auto' }, text)`; functions become listeners, null and false are left out.
 */
export function el(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split('.');
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(' ');
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value != null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter(Boolean));
  return node;
}

/**
 * Strokes in a box of 20; the mark, `swift`, in one of 24; ticks in 18 × 12. Each page adds what
 * else it needs.
 */
export const paths = {
  x: 'M5.5 5.5l9 9M14.5 5.5l-9 9',
  up: 'M10 16V4.5M5 9.3l5-4.8 5 4.8',
  down: 'M5.5 8l4.5 4.5L14.5 8',
  check: 'M4.5 10.5l3.6 3.6 7.4-8',
  clock: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4.2l2.6 1.6',
};
const ticks = {
  sending: 'M9 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM9 3.5V6l1.6 1',
  sent: 'M5 6.5l2.8 2.8L13 3.3',
  delivered: 'M1.5 6.5l2.8 2.8 5.2-6M8.5 8.5l.8.8 5.2-6',
  failed: 'M9 1.1a4.9 4.9 0 1 0 0 9.8 4.9 4.9 0 0 0 0-9.8zM9 3.3v3M9 8.5v.01',
};

function svg(box, className, d) {
  const space = 'http://www.w3.org/2000/svg';
  const node = document.createElementNS(space, 'svg');
  node.setAttribute('viewBox', box);
  node.setAttribute('class', className);
  node.setAttribute('aria-hidden', 'true');
  node.appendChild(document.createElementNS(space, 'path')).setAttribute('d', d);
  return node;
}

export const icon = (name, className = '') => svg(
  name === 'swift' ? '0 0 24 24' : '0 0 20 20',
  `icon ${name} ${className}`,
  paths[name],
);

/** @param {string} state sending, sent, delivered, read or failed */
export function tick(state) {
  const node = svg('0 0 18 12', 'tick', ticks[state] ?? ticks.delivered);
  node.setAttribute('data-state', state);
  return node;
}

/** Makes the children of `parent` those of `models`, in order, touching only what differs.
 * @param {{key: string}[]} models @param {(model: any, node: Element?) => Element} draw */
export function reconcile(parent, models, draw) {
  const old = parent.drawn ?? new Map();
  const drawn = new Map();
  let next = parent.firstElementChild;
  for (const model of models) {
    const sign = JSON.stringify(model);
    let known = old.get(model.key);
    if (known?.sign !== sign) known = { sign, node: draw(model, known?.node ?? null) };
    drawn.set(model.key, known);
    if (known.node === next) next = next.nextElementSibling;
    else parent.insertBefore(known.node, next);
  }
  for (const [key, { node }] of old) if (drawn.get(key)?.node !== node) node.remove();
  parent.drawn = drawn;
}

/**
 * A text in pieces: addresses become links. Only what is plain ASCII does, so that no letter looks
 * like another one and nothing turns the direction: the text of a link shows its true host.
 */
export const linked = (text) => text.split(/(https?:\/\/[\w.:-]+(?:[/?#][!-~]*[\w/])?)/).map(
  (part, odd) => odd % 2 ? el('a', { href: part, target: '_blank', rel: 'noopener' }, part) : part
);
